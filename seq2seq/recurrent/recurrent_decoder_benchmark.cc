// Benchmarks training steps on one thread. The recurrent models read all ids at
// once. A step is a forward and a backward pass, without the optimizer.
#include <cstdint>
#include <vector>

#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"
#include "data/text/vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/memory.h"
#include "seq2seq/testing/test_model.h"

namespace regard {
namespace {

constexpr int32_t kWords = 8000;
constexpr int64_t kBatch = 64;
constexpr int64_t kTime = 30;

constexpr char kLuong[] =
    "encoder { embedding: 256 hidden: 256 } attention { dot {} } decoder { "
    "embedding: 256 hidden: 256 query: CURRENT_STATE readout: ATTENTIONAL }";
constexpr char kLuongAdditive[] =
    "encoder { embedding: 256 hidden: 256 } attention { additive {} } decoder "
    "{ embedding: 256 hidden: 256 query: CURRENT_STATE readout: ATTENTIONAL }";
constexpr char kFixedContext[] =
    "encoder { embedding: 256 hidden: 256 } decoder { embedding: 256 hidden: "
    "256 context: LAST_STATE }";

// Targets have kTime ids, or kTime / 2 to kTime ids in descending order.
void Step(benchmark::State& state, const char* config, bool ragged) {
  TestModel<float> model(config, kWords);
  const RandomStream random(2, "sentences");
  std::vector<int32_t> ids(kBatch * kTime);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] =
        Vocabulary::kReserved + static_cast<int32_t>(random.UniformIntAt(
                                    i, kSourceWords - Vocabulary::kReserved));
  }
  std::vector<int32_t> lengths;
  int64_t tokens = 0;
  for (int64_t row = 0; row < kBatch; ++row) {
    const int64_t length = kTime - (ragged ? row * kTime / (2 * kBatch) : 0);
    lengths.push_back(static_cast<int32_t>(length));
    tokens += length;
    for (int64_t t = length; t < kTime; ++t) {
      ids[static_cast<size_t>(row * kTime + t)] = Vocabulary::kPad;
    }
  }
  GradientSlab<float> gradients(model.store());
  Tape<float> tape;
  tape.set_training(true);
  Forward<float> forward(tape, model.store(), &gradients);
  for (auto unused : state) {
    forward.BeginStep();
    const Memory<float> memory = model->encoder->Encode(forward, ids, lengths);
    const Var<float> sums[] = {model.head().Loss(
        forward, model->decoder->Run(forward, memory, ids, lengths), ids,
        /*label_smoothing=*/0)};
    const double seeds[] = {1.0 / kBatch};
    forward.Backward(sums, seeds);
  }
  state.SetItemsProcessed(state.iterations() * tokens);
}

BENCHMARK_CAPTURE(Step, luong_dot, kLuong, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Step, luong_dot_ragged, kLuong, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Step, luong_additive, kLuongAdditive, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Step, fixed_context, kFixedContext, false)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace regard

BENCHMARK_MAIN();
