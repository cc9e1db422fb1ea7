// The generated tests of a score by blocks of queries: what makes them legal,
// and that they compute the same.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/testing/expect_answers.h"
#include "attention/testing/scoring_function_test_body.h"
#include "attention/testing/scoring_problem.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-10;

constexpr const char* kConfigs[] = {
    "",
    "window: 2",
    "dropout: 0.3",
    "normalizer { sparsemax {} }",
    "normalizer { entmax15 {} } window: 3",
    "normalizer { sigmoid {} } dropout: 0.5",
    "position_encoding { alibi {} }",
    "position_encoding { rotary { width: 2 } } dropout: 0.3",
    "position_encoding { relative_buckets { buckets: 4 max_distance: 3 } }",
    "position_encoding { alibi {} } normalizer { sparsemax {} } dropout: 0.3"};

// What a config gives as a whole, and by blocks of each size: the context and
// the gradient of the queries to the bit.
void ExpectSameByBlocks(const AttentionRegistry& registry, Attention config,
                        const ScoreWidths& widths, ScoringProblem problem,
                        const std::vector<int>& sizes,
                        const std::string& what) {
  ScorerUnderTest<double> whole(registry, config, widths);
  if (whole.attender().uses_history()) {
    problem.previous = problem.cumulative = {};
  }
  if (whole.attender().LongestDistance() < problem.keys.shape[2]) return;
  whole.set_training(true);
  const ScoringAnswer expected = whole.FusedAnswer(problem);
  for (const int rows : sizes) {
    config.set_block(rows);
    ScorerUnderTest<double> scorer(registry, config, widths);
    scorer.set_training(true);
    const ScoringAnswer got = scorer.FusedAnswer(problem);
    const std::string name = absl::StrCat(what, ", blocks of ", rows);
    ExpectNear(got.context, expected.context, 0, name + ": context");
    ExpectNear(got.d_queries, expected.d_queries, 0, name + ": d queries");
    ExpectSameAnswer(got, expected, kRounding, name);
    ExpectSameParameterGradients(got, expected, kRounding);
  }
}

std::vector<std::pair<std::string, ScoringProblem>> Problems(
    const ScoreWidths& widths) {
  constexpr int64_t kQueries = 5;
  constexpr int64_t kKeys = 7;
  const ScoringProblem open =
      ScoringProblem::Random(2, kQueries, kKeys, widths);
  std::vector<std::pair<std::string, ScoringProblem>> problems;
  const auto add = [&](const std::string& name) -> ScoringProblem& {
    return problems.emplace_back(name, open).second;
  };
  add("open");
  add("ragged").key_lengths = {7, 2};
  add("lengths of queries").key_lengths = {1, 0, 3, 7, 4, 5, 6, 2, 0, 1};
  ScoringProblem& causal = add("causal");
  causal.causal = true;
  causal.positions.first_query = 2;
  ScoringProblem& window = add("causal window");
  window.causal = true;
  window.window = 3;
  window.positions = {.first_query = 3, .first_key = 1};
  ScoringProblem& alternatives = add("alternatives");
  alternatives.causal = true;
  alternatives.positions = {.first_query = 4, .query_step = 0};
  ScoringProblem& dense = add("dense");
  for (int64_t i = 0; i < 2 * kQueries * kKeys; ++i) {
    dense.dense.push_back(i / kKeys != 1 && i % 3 != 0);
  }
  ScoringProblem& hidden = add("a hidden key each");
  for (int64_t i = 0; i < 2 * kQueries; ++i) {
    hidden.hidden.push_back((i + 2) % kQueries);
  }
  return problems;
}

}  // namespace

TEST_P(ScoringFunctionTest, ScoresOfAPartAreThatPartOfTheScores) {
  if (info().uses_history) GTEST_SKIP() << "weights of other keys are an input";
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  ScoringProblem whole = ScoringProblem::Random(2, 5, 7, widths_);
  whole.positions = {.first_query = 4, .first_key = 1};
  const TestArray expected = scorer.Scores(whole);
  const std::vector<int64_t> rows = Range(1, 4);
  for (const auto& [begin, end] : {std::pair(0, 4), {2, 6}, {5, 7}}) {
    ScoringProblem part = whole.TakeQueries(rows).TakeKeys(Range(begin, end));
    part.positions = {.first_query = 5, .first_key = 1 + begin};
    ExpectNear(scorer.Scores(part),
               Take(Take(expected, 2, rows), 3, Range(begin, end)), 0,
               absl::StrCat("keys ", begin, " to ", end));
  }
}

TEST_P(ScoringFunctionTest, BlocksOfAnySizeComputeTheSame) {
  for (const char* config : kConfigs) {
    for (const auto& [mask, problem] : Problems(widths_)) {
      ExpectSameByBlocks(registry_, ConfigWith(config), widths_, problem,
                         {1, 3, 256}, absl::StrCat(config, ", ", mask));
    }
  }
}

// Key ranges that begin after the first, and sums over more keys than a product
// adds at once.
TEST_P(ScoringFunctionTest, BlocksOfLongSequencesComputeTheSame) {
  for (const char* config :
       {"", "normalizer { sigmoid {} }", "position_encoding { alibi {} }"}) {
    ScoringProblem problem = ScoringProblem::Random(1, 270, 500, widths_);
    problem.positions.first_query = 230;
    problem.causal = true;
    problem.window = 64;
    ExpectSameByBlocks(registry_, ConfigWith(config), widths_, problem,
                       {100, 256, 512}, config);
  }
}

}  // namespace regard
