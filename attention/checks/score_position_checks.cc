// Checks of a score with each position encoding. Also checks that keys can be
// prepared, and queries decoded, in parts.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/checks/expectations.h"
#include "attention/checks/score_checks.h"
#include "attention/checks/scoring_problem.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/tape.h"
#include "nn/forward.h"

namespace regard {

namespace {

constexpr const char* kPositions[] = {
    "",
    "window: 2",
    "position_encoding { rotary { width: 2 } }",
    "position_encoding { rotary { style: INTERLEAVED width: 2 } }",
    "position_encoding { alibi {} }",
    "position_encoding { relative_buckets { buckets: 4 max_distance: 3 } }",
    "position_encoding { alibi {} } window: 3",
    "position_encoding { rotary { width: 2 } } window: 2"};

void ContextsHaveTheGradientsOfDifferences(const ScoreToCheck& score,
                                           Expectations& expect) {
  const ScoringProblem problem = ScoringProblem::Random(2, 2, 3, score.widths);
  std::vector<GradientCase> cases;
  for (const char* positions : kPositions) {
    const Attention config = ConfigWith(score, positions);
    std::vector<TestInputSpec> inputs = {{problem.queries.shape},
                                         {problem.keys.shape}};
    if (score.info.uses_history) {
      inputs.push_back({problem.previous.shape, 0, 1});
      inputs.push_back({problem.cumulative.shape, 0, 2});
    }
    const size_t first_x = inputs.size();
    for (const TestArray* x : {&problem.query_x, &problem.key_x}) {
      inputs.push_back({x->shape});
    }
    const size_t first_parameter = inputs.size();
    // Shared pointers, because records of the tape may refer to the scorers.
    const auto in_double = std::make_shared<ScorerUnderTest<double>>(
        score.registry, config, score.widths);
    const auto in_float = std::make_shared<ScorerUnderTest<float>>(
        score.registry, config, score.widths);
    for (const ParameterInfo& parameter : in_double->store().parameters()) {
      inputs.push_back({parameter.shape});
    }
    const auto context = [=]<typename T>(Tape<T>& tape,
                                         absl::Span<const Var<T>> in) {
      ScorerUnderTest<T>* tested;
      if constexpr (std::is_same_v<T, float>) {
        tested = in_float.get();
      } else {
        tested = in_double.get();
      }
      Forward<T> forward(tape, tested->store(), in.subspan(first_parameter));
      AttendInputs<T> attend;
      attend.score.queries = in[0];
      attend.score.x = in[first_x];
      attend.score.keys = tested->attender().Prepare(
          forward, {.keys = in[1], .x = in[first_x + 1]});
      if (first_x > 2) {
        attend.score.previous_weights = in[2];
        attend.score.cumulative_weights = in[3];
      }
      const std::vector<T> values(problem.values.values.begin(),
                                  problem.values.values.end());
      attend.values = tape.Constant(problem.values.shape, values);
      return tested->attender().Attend(forward, attend).context;
    };  // NOLINT(readability/braces)
    cases.push_back(MakeCase(
        score.info.name, absl::StrCat("context ", positions), inputs, context));
  }
  for (const std::string& failure : GradientFailures(cases)) {
    expect.True(false, failure);
  }
}

// Preparing keys in parts must give the same result as preparing all keys at
// once. A score without a slot must also prepare each key independently.
void PrepareGoesOnFromItsState(const ScoreToCheck& score,
                               Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem problem = ScoringProblem::Random(2, 1, 5, score.widths);
  problem.positions.first_key = 2;
  const TestArray whole = scorer.PrepareKeysInParts(problem, {});
  for (const std::vector<int64_t>& parts :
       {std::vector<int64_t>{5}, {1, 1, 1, 1, 1}, {2, 3}, {1, 3, 1}}) {
    expect.Near(scorer.PrepareKeysInParts(problem, parts), whole, 1e-12,
                absl::StrCat("in ", parts.size(), " parts"));
  }
  if (scorer.num_slots() > 0) return;
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t one[] = {i};
    ScoringProblem alone = problem.TakeKeysWithoutMask(one);
    alone.positions.first_key = 2 + i;
    expect.Near(scorer.PrepareKeysInParts(alone, {}), Take(whole, 2, one),
                1e-12, absl::StrCat("key ", i));
  }
}

// Single steps must be bit-identical to a call with all queries.
void StepByStepHasTheBitsOfAllAtOnce(const ScoreToCheck& score,
                                     Expectations& expect) {
  if (score.info.uses_history) return expect.Skip("it sees one step at a time");
  for (const char* positions : kPositions) {
    ScorerUnderTest<float> scorer(score.registry, ConfigWith(score, positions),
                                  score.widths);
    ScoringProblem problem = ScoringProblem::Random(2, 5, 5, score.widths);
    problem.causal = true;
    for (const bool want_weights : {true, false}) {
      const ScoringResult all = want_weights
                                    ? scorer.Compute(problem)
                                    : scorer.ComputeContextOnly(problem);
      expect.Near(scorer.ComputeContextStepwise(problem, want_weights).context,
                  all.context, 0, absl::StrCat("context ", positions));
    }
  }
}

void OtherExamplesChangeNoBit(const ScoreToCheck& score, Expectations& expect) {
  for (const char* positions : kPositions) {
    ScorerUnderTest<float> scorer(score.registry, ConfigWith(score, positions),
                                  score.widths);
    ScoringProblem problem = ScoringProblem::Random(3, 2, 5, score.widths);
    const std::vector<int32_t> lengths = {5, 2, 4};
    problem.key_lengths = lengths;
    problem.positions.first_query = 2;
    const ScoringResult together = scorer.Compute(problem);
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t one[] = {i};
      ScoringProblem alone = problem.TakeExamplesWithoutMask(one);
      alone.key_lengths = {lengths[i]};
      alone.positions = problem.positions;
      const ScoringResult expected = scorer.Compute(alone);
      ScoringResult got;
      got.weights = Take(together.weights, 0, one);
      got.context = Take(together.context, 0, one);
      got.d_queries = Take(together.d_queries, 0, one);
      got.d_keys = Take(together.d_keys, 0, one);
      got.d_values = Take(together.d_values, 0, one);
      got.d_query_x = Take(together.d_query_x, 0, one);
      got.d_key_x = Take(together.d_key_x, 0, one);
      expect.SameExceptParameterGradients(
          got, expected, 0, absl::StrCat("example ", i, " ", positions));
    }
  }
}

}  // namespace

std::vector<ScoreCheck> ScorePositionChecks() {
  return {{"ContextsHaveTheGradientsOfDifferences",
           &ContextsHaveTheGradientsOfDifferences},
          {"PrepareGoesOnFromItsState", &PrepareGoesOnFromItsState},
          {"StepByStepHasTheBitsOfAllAtOnce", &StepByStepHasTheBitsOfAllAtOnce},
          {"OtherExamplesChangeNoBit", &OtherExamplesChangeNoBit}};
}

}  // namespace regard
