// Checks that a sink takes weight from the keys of every score, with and
// without fused kernels.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/checks/expectations.h"
#include "attention/checks/score_checks.h"
#include "attention/checks/scoring_problem.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-12;

// Problems with three queries and six keys. The first problem has no mask.
std::vector<ScoringProblem> Problems(const ScoreWidths& widths) {
  std::vector<ScoringProblem> problems(4,
                                       ScoringProblem::Random(2, 3, 6, widths));
  problems[1].key_lengths = {4, 0};
  problems[2].causal = true;
  problems[2].positions.first_query = 1;
  for (int64_t i = 0; i < 2 * 3 * 6; ++i) {
    problems[3].dense.push_back(i / 6 != 1 && i % 3 != 0);
  }
  return problems;
}

void ASinkIsTheScoreOfOneMoreKey(const ScoreToCheck& score,
                                 Expectations& expect) {
  constexpr double kLogit = 0.7;
  ScorerUnderTest<double> scorer(
      score.registry, ConfigWith(score, "sink { logit: 0.7 learned: false }"),
      score.widths);
  const ScoringProblem problem = Problems(score.widths)[0];
  TestArray expected = scorer.Scores(problem);
  for (size_t row = 0; row < expected.values.size(); row += 6) {
    double sum = std::exp(kLogit);
    for (size_t k = row; k < row + 6; ++k) {
      expected.values[k] = std::exp(expected.values[k]);
      sum += expected.values[k];
    }
    for (size_t k = row; k < row + 6; ++k) expected.values[k] /= sum;
  }
  expect.Near(scorer.Compute(problem).weights, expected, kRounding, "weights");
}

void AFarSinkIsPlainAttention(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> plain(score.registry, score.options, score.widths);
  ScorerUnderTest<double> scorer(score.registry,
                                 ConfigWith(score, "sink { logit: -10000 }"),
                                 score.widths);
  for (const ScoringProblem& problem : Problems(score.widths)) {
    for (const bool fused : {false, true}) {
      const ScoringResult expected =
          fused ? plain.ComputeContextOnly(problem) : plain.Compute(problem);
      const ScoringResult got =
          fused ? scorer.ComputeContextOnly(problem) : scorer.Compute(problem);
      expect.SameExceptParameterGradients(got, expected, kRounding,
                                          "with a far sink");
      expect.SameParameterGradients(got, expected, kRounding);
      expect.AllZero(got.d_parameters.at("sink.logit"), "gradient of the sink");
    }
  }
}

void AllPathsHaveTheSink(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, ConfigWith(score, "sink {}"),
                                 score.widths);
  for (const ScoringProblem& problem : Problems(score.widths)) {
    ScoringResult got = scorer.ComputeContextOnly(problem);
    const ScoringResult expected = scorer.ComputeWeightsAndContext(problem);
    // ComputeContextOnly() returns no weights, so weights are not compared.
    got.weights = expected.weights;
    expect.SameExceptParameterGradients(got, expected, kRounding,
                                        "with a sink");
    expect.SameParameterGradients(got, expected, kRounding);
    const auto& d_sink = expected.d_parameters.at("sink.logit").values;
    expect.True(std::all_of(d_sink.begin(), d_sink.end(),
                            [](double d) { return d != 0; }),
                "a sink has no gradient");
    expect.AllFinite(got);
  }
}

}  // namespace

std::vector<ScoreCheck> ScoreSinkChecks() {
  return {{"ASinkIsTheScoreOfOneMoreKey", &ASinkIsTheScoreOfOneMoreKey},
          {"AFarSinkIsPlainAttention", &AFarSinkIsPlainAttention},
          {"AllPathsHaveTheSink", &AllPathsHaveTheSink}};
}

}  // namespace regard
