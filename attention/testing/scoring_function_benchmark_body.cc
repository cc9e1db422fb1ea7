#include "attention/testing/scoring_function_benchmark_body.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/checks/scoring_problem.h"
#include "attention/scoring_function.h"
#include "benchmark/benchmark.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

struct Extents {
  const char* name;
  int64_t batch, heads, queries, keys, width;
};

constexpr Extents kExtents[] = {{"decoder", 32, 1, 1, 20, 64},
                                {"self_attention", 4, 4, 64, 64, 16}};

void MeasureAttention(benchmark::State& state,
                      const ScoringFunctionCase& tested,
                      const Extents& extents) {
  AttentionRegistry registry;
  tested.register_score(registry);
  const std::unique_ptr<google::protobuf::Message> options(
      registry.plugins()[0].default_options->New());
  REGARD_CHECK(google::protobuf::TextFormat::ParseFromString(tested.options,
                                                             options.get()))
      << tested.options;
  const ScoreWidths widths = {.heads = extents.heads,
                              .query = extents.width,
                              .key = extents.width,
                              .query_input = extents.heads * extents.width,
                              .key_input = extents.heads * extents.width};
  ScorerUnderTest<float> scorer(registry, *options, widths);
  const ScoringProblem problem = ScoringProblem::Random(
      extents.batch, extents.queries, extents.keys, widths);
  for (auto _ : state) {
    benchmark::DoNotOptimize(scorer.Compute(problem).context.values.data());
  }
  state.SetItemsProcessed(state.iterations() * extents.batch * extents.heads *
                          extents.queries * extents.keys);
}

}  // namespace

int BenchmarkScoringFunction(int argc, char** argv,
                             const std::vector<ScoringFunctionCase>& cases) {
  for (const ScoringFunctionCase& tested : cases) {
    for (const Extents& extents : kExtents) {
      benchmark::RegisterBenchmark(
          absl::StrCat(extents.name, "/", tested.options).c_str(),
          [tested, &extents](benchmark::State& state) {
            MeasureAttention(state, tested, extents);
          });
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace regard
