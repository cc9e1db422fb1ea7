// Scores as formulas and as they are built in: a step forward and backward on
// one thread, with the context alone wanted.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/text_format.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

struct Extents {
  const char* name;
  int64_t batch, heads, queries, keys, width;
};

constexpr Extents kExtents[] = {{"decoder", 32, 1, 1, 20, 64},
                                {"self_attention", 2, 4, 256, 256, 64}};

constexpr const char* kScores[] = {
    "additive {}",
    "formula { score: 'v . tanh(W q + U k)' }",
    "scaled_dot {}",
    "formula { score: 'q . k / sqrt(d)' }",
};

void MeasureStep(benchmark::State& state, const char* score,
                 const Extents& extents) {
  const AttentionRegistry registry = BuiltInScores();
  Attention config;
  REGARD_CHECK(google::protobuf::TextFormat::ParseFromString(score, &config));
  ParameterStore<float> store;
  const AttentionLayer<float> layer(
      registry, config, store.Root(),
      {.heads = extents.heads, .query = extents.width, .key = extents.width});
  store.Finalize(1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  const auto shape = [&](int64_t rows) {
    return Shape({extents.batch, extents.heads, rows, extents.width});
  };
  std::vector<float> values(shape(extents.keys).size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i));
  }
  std::vector<float> grads(3 * values.size());
  for (auto unused : state) {
    forward.BeginStep();
    const auto leaf = [&](size_t i, int64_t rows) {
      return tape.Leaf(values.data(), grads.data() + i * values.size(),
                       shape(rows));
    };
    AttendInputs<float> inputs;
    inputs.fused_score = true;
    inputs.score.queries = leaf(0, extents.queries);
    inputs.score.keys = layer.Prepare(forward, leaf(1, extents.keys), 0);
    inputs.values = leaf(2, extents.keys);
    forward.Backward({Sum(layer.Attend(forward, inputs).context)}, {1.0});
    benchmark::DoNotOptimize(grads.data());
  }
}

void RegisterBenchmarks() {
  for (const Extents& extents : kExtents) {
    for (const char* score : kScores) {
      benchmark::RegisterBenchmark(
          absl::StrCat(extents.name, "/", score).c_str(),
          [score, &extents](benchmark::State& state) {
            MeasureStep(state, score, extents);
          })
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  regard::RegisterBenchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
