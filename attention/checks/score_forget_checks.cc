// Checks of a score with a forget gate: weights, gradients, steps, blocks and
// fused kernels.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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

constexpr double kRounding = 1e-12;

// The forget gate with and without other parts that change scores or weights.
constexpr const char* kConfigs[] = {
    "forget {}",
    "forget { bias: 2 } window: 3",
    "forget {} sink {} position_encoding { alibi {} }",
    "forget {} position_encoding { rotary { width: 2 } }",
    "forget {} normalizer { entmax15 {} } map_before { soft_cap { cap: 0.7 } }",
    "forget {} map_after { soft_cap { cap: 0.3 } }"};

// Causal self-attention of two examples.
ScoringProblem SelfProblem(const ScoreToCheck& score, int64_t time) {
  ScoringProblem problem = ScoringProblem::Random(2, time, time, score.widths);
  problem.causal = true;
  if (score.info.uses_history) problem.previous = problem.cumulative = {};
  return problem;
}

void SetParameter(const std::string& name, double value,
                  ScorerUnderTest<double>* scorer) {
  const auto values = scorer->store().value(*scorer->store().FindByName(name));
  std::fill(values.begin(), values.end(), value);
}

// With weight 0 and bias 1000, the gates are sigmoid(1000). exp(-1000) is 0 in
// double, so log sigmoid(1000) is exactly 0.
void GatesOfOneArePlainAttention(const ScoreToCheck& score,
                                 Expectations& expect) {
  for (const int64_t time : {1, 5}) {
    const ScoringProblem problem = SelfProblem(score, time);
    ScorerUnderTest<double> plain(score.registry, score.options, score.widths);
    ScorerUnderTest<double> scorer(
        score.registry, ConfigWith(score, "forget {}"), score.widths);
    SetParameter("forget.weight", 0, &scorer);
    SetParameter("forget.bias", 1000, &scorer);
    for (const bool fused : {false, true}) {
      const ScoringResult expected =
          fused ? plain.ComputeContextOnly(problem) : plain.Compute(problem);
      const ScoringResult got =
          fused ? scorer.ComputeContextOnly(problem) : scorer.Compute(problem);
      expect.SameExceptParameterGradients(got, expected, 0, "gates of 1");
      expect.SameParameterGradients(got, expected, 0);
    }
  }
}

// The weights must be the softmax of the scores plus a bias. The bias of a pair
// is the sum of log f over the gates f between key and query.
void ScoresAreLoweredByTheGatesBetween(const ScoreToCheck& score,
                                       Expectations& expect) {
  constexpr int64_t kTime = 5;
  const ScoringProblem problem = SelfProblem(score, kTime);
  ScorerUnderTest<double> scorer(score.registry, ConfigWith(score, "forget {}"),
                                 score.widths);
  const auto parameter = [&](const char* name) {
    return scorer.store().value(*scorer.store().FindByName(name));
  };
  const auto weight = parameter("forget.weight");
  const auto bias = parameter("forget.bias");
  const int64_t heads = score.widths.heads;
  const int64_t width = score.widths.query_input;
  const auto log_gate = [&](int64_t example, int64_t head, int64_t t) {
    double z = bias[static_cast<size_t>(head)];
    for (int64_t i = 0; i < width; ++i) {
      z += weight[static_cast<size_t>(head * width + i)] *
           problem.query_x
               .values[static_cast<size_t>((example * kTime + t) * width + i)];
    }
    return -std::log1p(std::exp(-z));
  };
  ScoringProblem first = problem;
  if (score.info.uses_history) {
    // Without history, the layer uses previous and cumulative weights of 0.
    const Shape shape = {2, heads, kTime, kTime};
    first.previous = {
        shape, std::vector<double>(static_cast<size_t>(shape.size()), 0.0)};
    first.cumulative = first.previous;
  }
  TestArray expected = scorer.Scores(first);
  for (int64_t row = 0; row < 2 * heads * kTime; ++row) {
    const int64_t query = row % kTime;
    double* const s = expected.values.data() + row * kTime;
    double decay = 0;
    double sum = 0;
    for (int64_t key = query; key >= 0; --key) {
      s[key] = std::exp(s[key] + decay);
      sum += s[key];
      decay += log_gate(row / kTime / heads, row / kTime % heads, key);
    }
    for (int64_t key = 0; key < kTime; ++key) {
      // The sum is 0 if a kernel with bounded support gives all keys the score
      // -inf.
      s[key] = key <= query && sum > 0 ? s[key] / sum : 0;
    }
  }
  expect.Near(scorer.Compute(problem).weights, expected, kRounding, "weights");
}

void AllPathsForget(const ScoreToCheck& score, Expectations& expect) {
  constexpr int64_t kLong = 300;  // several blocks of queries and of keys
  std::vector<const char*> configs(std::begin(kConfigs), std::end(kConfigs));
  // A selection compares queries with prepared keys, which must have the same
  // width. The window makes the runs of later queries begin after the first
  // key.
  if (!score.info.prepares_other_widths && !score.info.uses_history &&
      score.widths.query == score.widths.key) {
    configs.push_back(
        "forget {} selection { moba { block_size: 32 top_k: 2 } } block: 128 "
        "window: 20");
  }
  for (const char* config : configs) {
    ScorerUnderTest<double> scorer(score.registry, ConfigWith(score, config),
                                   score.widths);
    if (scorer.attender().MaxDistance() < kLong) continue;
    for (const int64_t time : {int64_t{6}, kLong}) {
      ScoringProblem problem = SelfProblem(score, time);
      problem.key_lengths = {static_cast<int32_t>(time), 4};
      ScoringResult got = scorer.ComputeContextOnly(problem);
      const ScoringResult expected = scorer.ComputeWeightsAndContext(problem);
      // ComputeContextOnly() returns no weights, so weights are not compared.
      got.weights = expected.weights;
      expect.SameExceptParameterGradients(got, expected, 1e-10, config);
      expect.SameParameterGradients(got, expected, 1e-10);
      expect.AllFinite(got);
    }
  }
}

void ForgettingHasTheGradientsOfDifferences(const ScoreToCheck& score,
                                            Expectations& expect) {
  const ScoringProblem problem = SelfProblem(score, 3);
  std::vector<GradientCase> cases;
  for (const char* fields : kConfigs) {
    const Attention config = ConfigWith(score, fields);
    std::vector<TestInputSpec> inputs;
    for (const TestArray* array :
         {&problem.queries, &problem.keys, &problem.query_x, &problem.key_x}) {
      inputs.push_back({array->shape});
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
      attend.score.x = in[2];
      attend.score.keys =
          tested->attender().Prepare(forward, {.keys = in[1], .x = in[3]});
      attend.score.mask.causal = true;
      attend.context_only = true;
      attend.values = tape.Constant(
          problem.values.shape, std::vector<T>(problem.values.values.begin(),
                                               problem.values.values.end()));
      return tested->attender().Attend(forward, attend).context;
    };  // NOLINT(readability/braces)
    cases.push_back(MakeCase(score.info.name, fields, inputs, context));
  }
  for (const std::string& failure : GradientFailures(cases)) {
    expect.True(false, failure);
  }
}

// Computing the contexts position by position must be bit-identical to
// computing all contexts at once.
void StepsForgetAsAllAtOnce(const ScoreToCheck& score, Expectations& expect) {
  if (score.info.uses_history) return expect.Skip("it sees one step at a time");
  for (const char* config : kConfigs) {
    ScorerUnderTest<float> scorer(score.registry, ConfigWith(score, config),
                                  score.widths);
    const ScoringProblem problem = SelfProblem(score, 5);
    for (const bool want_weights : {true, false}) {
      const ScoringResult all = want_weights
                                    ? scorer.Compute(problem)
                                    : scorer.ComputeContextOnly(problem);
      expect.Near(scorer.ComputeContextStepwise(problem, want_weights).context,
                  all.context, 0, absl::StrCat("context ", config));
    }
  }
}

void BlocksForgetAsAllAtOnce(const ScoreToCheck& score, Expectations& expect) {
  for (const char* fields : kConfigs) {
    Attention config = ConfigWith(score, fields);
    const ScoringProblem problem = SelfProblem(score, 7);
    ScorerUnderTest<double> whole(score.registry, config, score.widths);
    const ScoringResult expected = whole.ComputeContextOnly(problem);
    for (const int rows : {1, 3}) {
      config.set_block(rows);
      ScorerUnderTest<double> scorer(score.registry, config, score.widths);
      const ScoringResult got = scorer.ComputeContextOnly(problem);
      const std::string name = absl::StrCat(fields, ", blocks of ", rows);
      expect.Near(got.context, expected.context, 0, name + ": context");
      expect.SameExceptParameterGradients(got, expected, 1e-10, name);
      expect.SameParameterGradients(got, expected, 1e-10);
    }
  }
}

}  // namespace

std::vector<ScoreCheck> ScoreForgetChecks() {
  return {
      {"GatesOfOneArePlainAttention", &GatesOfOneArePlainAttention},
      {"ScoresAreLoweredByTheGatesBetween", &ScoresAreLoweredByTheGatesBetween},
      {"AllPathsForget", &AllPathsForget},
      {"ForgettingHasTheGradientsOfDifferences",
       &ForgettingHasTheGradientsOfDifferences},
      {"StepsForgetAsAllAtOnce", &StepsForgetAsAllAtOnce},
      {"BlocksForgetAsAllAtOnce", &BlocksForgetAsAllAtOnce}};
}

}  // namespace regard
