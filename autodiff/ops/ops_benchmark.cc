// Measures the overhead of the tape: small operations, forward and backward.

#include <cstdint>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"

namespace regard {
namespace {

constexpr int kChain = 1000;

// Measures the time per operation of a chain over `size` elements.
template <typename F>
void RunChain(benchmark::State& state, F f) {
  const Shape shape({state.range(0)});
  std::vector<float> value(shape.size(), 0.5f);
  std::vector<float> grad(shape.size());
  Tape<float> tape;
  for (auto unused : state) {
    tape.Reset();
    Var<float> x = tape.Leaf(value.data(), grad.data(), shape);
    for (int i = 0; i < kChain; ++i) x = f(x);
    tape.Backward(Sum(x));
    benchmark::DoNotOptimize(grad.data());
  }
  state.SetItemsProcessed(state.iterations() * kChain);
}

void BM_AddNumber(benchmark::State& state) {
  RunChain(state, [](Var<float> x) { return x + 1; });
}
BENCHMARK(BM_AddNumber)->Arg(1)->Arg(64);

void BM_Tanh(benchmark::State& state) {
  RunChain(state, [](Var<float> x) { return Tanh(x); });
}
BENCHMARK(BM_Tanh)->Arg(1)->Arg(64);

void BM_Add(benchmark::State& state) {
  RunChain(state, [](Var<float> x) { return x + x; });
}
BENCHMARK(BM_Add)->Arg(1)->Arg(64);

void BM_Linear(benchmark::State& state) {
  const int64_t width = state.range(0);
  std::vector<float> storage(4 * width * width + 4 * width, 0.1f);
  float* const x = storage.data();
  float* const weight = x + 2 * width * width;
  float* const bias = x + 4 * width * width;
  Tape<float> tape;
  for (auto unused : state) {
    tape.Reset();
    const Var<float> y =
        Linear(tape.Leaf(x, x + width * width, {width, width}),
               tape.Leaf(weight, weight + width * width, {width, width}),
               tape.Leaf(bias, bias + width, {width}));
    tape.Backward(Sum(y));
    benchmark::DoNotOptimize(storage.data());
  }
}
BENCHMARK(BM_Linear)->Arg(8)->Arg(64);

}  // namespace
}  // namespace regard

BENCHMARK_MAIN();
