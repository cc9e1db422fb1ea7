// Checks that a score gives the same results in blocks of queries as with all
// queries at once.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/checks/expectations.h"
#include "attention/checks/score_checks.h"
#include "attention/checks/scoring_problem.h"

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
    "normalizer { scalable_softmax { bias: 1 } } dropout: 0.3",
    "position_encoding { alibi {} }",
    "position_encoding { rotary { width: 2 } } dropout: 0.3",
    "position_encoding { relative_buckets { buckets: 4 max_distance: 3 } }",
    "position_encoding { alibi {} } normalizer { sparsemax {} } dropout: 0.3",
    "map_before { soft_cap { cap: 0.7 } }",
    "map_before { top_k { keys: 3 } }",
    "map_before { talking_heads {} } map_after { talking_heads {} }",
    "map_after { soft_cap { cap: 0.3 } } dropout: 0.3",
    "sink {} dropout: 0.3",
    "sink { logit: 1 learned: false } normalizer { entmax15 {} }"};

// Compares blocks of each size with all queries at once. The context and the
// gradient of the queries must be bit-identical.
void SameByBlocks(const ScoreToCheck& score, const char* fields,
                  ScoringProblem problem, const std::vector<int>& sizes,
                  const std::string& what, Expectations& expect) {
  Attention config = ConfigWith(score, fields);
  ScorerUnderTest<double> whole(score.registry, config, score.widths);
  if (whole.attender().uses_history()) {
    problem.previous = problem.cumulative = {};
  }
  if (whole.attender().MaxDistance() < problem.keys.shape[2]) return;
  whole.set_training(true);
  const ScoringResult expected = whole.ComputeContextOnly(problem);
  for (const int rows : sizes) {
    config.set_block(rows);
    ScorerUnderTest<double> scorer(score.registry, config, score.widths);
    scorer.set_training(true);
    const ScoringResult got = scorer.ComputeContextOnly(problem);
    const std::string name = absl::StrCat(what, ", blocks of ", rows);
    expect.Near(got.context, expected.context, 0, name + ": context");
    expect.Near(got.d_queries, expected.d_queries, 0, name + ": d queries");
    expect.Near(got.d_query_x, expected.d_query_x, 0, name + ": d inputs");
    expect.SameExceptParameterGradients(got, expected, kRounding, name);
    expect.SameParameterGradients(got, expected, kRounding);
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
    hidden.excluded.push_back((i + 2) % kQueries);
  }
  return problems;
}

void ScoresOfAPartAreThatPartOfTheScores(const ScoreToCheck& score,
                                         Expectations& expect) {
  if (score.info.uses_history) {
    return expect.Skip("weights of other keys are an input");
  }
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem whole = ScoringProblem::Random(2, 5, 7, score.widths);
  whole.positions = {.first_query = 4, .first_key = 1};
  const TestArray expected = scorer.Scores(whole);
  const std::vector<int64_t> rows = Range(1, 4);
  for (const auto& [begin, end] : {std::pair(0, 4), {2, 6}, {5, 7}}) {
    const std::vector<int64_t> keys = Range(begin, end);
    expect.Near(scorer.ScoresOfPart(whole, rows, keys),
                Take(Take(expected, 2, rows), 3, keys), 0,
                absl::StrCat("keys ", begin, " to ", end));
  }
}

void BlocksOfAnySizeComputeTheSame(const ScoreToCheck& score,
                                   Expectations& expect) {
  for (const char* config : kConfigs) {
    for (const auto& [mask, problem] : Problems(score.widths)) {
      SameByBlocks(score, config, problem, {1, 3, 256},
                   absl::StrCat(config, ", ", mask), expect);
    }
  }
}

// The long sequences have key ranges that do not begin at the first key. They
// also have sums over more keys than one piece of a matrix product.
void BlocksOfLongSequencesComputeTheSame(const ScoreToCheck& score,
                                         Expectations& expect) {
  for (const char* config : {"", "dropout: 0.3", "normalizer { sigmoid {} }",
                             "position_encoding { alibi {} }"}) {
    ScoringProblem problem = ScoringProblem::Random(1, 270, 500, score.widths);
    problem.positions.first_query = 230;
    problem.causal = true;
    problem.window = 64;
    SameByBlocks(score, config, problem, {100, 256, 512}, config, expect);
  }
}

}  // namespace

std::vector<ScoreCheck> ScoreBlockChecks() {
  return {{"ScoresOfAPartAreThatPartOfTheScores",
           &ScoresOfAPartAreThatPartOfTheScores},
          {"BlocksOfAnySizeComputeTheSame", &BlocksOfAnySizeComputeTheSame},
          {"BlocksOfLongSequencesComputeTheSame",
           &BlocksOfLongSequencesComputeTheSame}};
}

}  // namespace regard
