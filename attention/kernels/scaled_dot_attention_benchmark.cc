// Benchmark of scaled dot-product attention, forward and backward on one
// thread: the blocked kernel, and the composition of operations that it
// replaces.
#include <cmath>
#include <cstdint>
#include <vector>

#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"

namespace regard {
namespace {

// Runs f(queries, keys, values) with arrays [batch, heads, time, width],
// forward and backward.
template <typename F>
void RunAttention(benchmark::State& state, F f) {
  const Shape shape({2, state.range(0), state.range(1), state.range(2)});
  std::vector<float> value(3 * shape.size());
  for (size_t i = 0; i < value.size(); ++i) {
    value[i] = std::sin(static_cast<float>(i));
  }
  std::vector<float> grad(value.size());
  Tape<float> tape;
  for (auto unused : state) {
    tape.Reset();
    const auto leaf = [&](int64_t i) {
      return tape.Leaf(value.data() + i * shape.size(),
                       grad.data() + i * shape.size(), shape);
    };
    tape.Backward(Sum(f(leaf(0), leaf(1), leaf(2))));
    benchmark::DoNotOptimize(grad.data());
  }
  // The forward pass has two matrix products, and the backward pass has five.
  const int64_t products = 7 * 2 * shape.size() * shape[2];
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(products),
                         benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes"] = static_cast<double>(tape.high_water_bytes());
}

void BM_ScaledDotAttention(benchmark::State& state) {
  RunAttention(state, [](Var<float> q, Var<float> k, Var<float> v) {
    return ScaledDotAttention<float>({q, k, 0.1f}, v, {});
  });
}
BENCHMARK(BM_ScaledDotAttention)
    ->Args({16, 512, 32})
    ->Args({8, 64, 64})
    ->Unit(benchmark::kMicrosecond);

void BM_ScoresSoftmaxContext(benchmark::State& state) {
  RunAttention(state, [](Var<float> q, Var<float> k, Var<float> v) {
    const Var<float> scores = MatMul(q, k, {.b = true}) * 0.1f;
    return MaskedSoftmaxContext(scores, {}, v).context;
  });
}
BENCHMARK(BM_ScoresSoftmaxContext)
    ->Args({16, 512, 32})
    ->Args({8, 64, 64})
    ->Unit(benchmark::kMicrosecond);

// Like BM_ScoresSoftmaxContext, but the context is a matrix product.
void BM_ScoresSoftmaxProduct(benchmark::State& state) {
  RunAttention(state, [](Var<float> q, Var<float> k, Var<float> v) {
    const Var<float> scores = MatMul(q, k, {.b = true}) * 0.1f;
    return MatMul(MaskedSoftmax(scores, {}), v);
  });
}
BENCHMARK(BM_ScoresSoftmaxProduct)
    ->Args({16, 512, 32})
    ->Args({8, 64, 64})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace regard

BENCHMARK_MAIN();
