#include "attention/checks/score_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/checks/expectations.h"
#include "attention/checks/scoring_problem.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/ops/elementwise.h"
#include "google/protobuf/text_format.h"
#include "nn/forward.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-12;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double LargestDifference(const TestArray& a, const TestArray& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

// Sets the elements of all keys except the first three to `value`. `axis` is
// the axis of keys.
void FillHidden(TestArray* array, int axis, double value) {
  if (array->shape.rank() == 0) return;
  const int64_t keys = array->shape[axis];
  const int64_t inner =
      axis + 1 < array->shape.rank() ? array->shape[axis + 1] : 1;
  for (size_t i = 0; i < array->values.size(); ++i) {
    if (static_cast<int64_t>(i) / inner % keys >= 3) array->values[i] = value;
  }
}

// Returns problems with six keys. Each problem uses a different kind of mask to
// hide keys 3, 4 and 5 from all three queries.
std::vector<std::pair<std::string, ScoringProblem>> MaskedProblems(
    const ScoreWidths& widths) {
  constexpr int64_t kBatch = 2;
  constexpr int64_t kQueries = 3;
  constexpr int64_t kKeys = 6;
  ScoringProblem open = ScoringProblem::Random(kBatch, kQueries, kKeys, widths);
  // In the history, the masked keys have weight 0.
  FillHidden(&open.previous, 3, 0);
  FillHidden(&open.cumulative, 3, 0);
  std::vector<std::pair<std::string, ScoringProblem>> problems;
  const auto add = [&](const std::string& name) -> ScoringProblem& {
    return problems.emplace_back(name, open).second;
  };
  add("lengths").key_lengths = {3, 3};
  add("lengths of queries").key_lengths = {1, 2, 3, 3, 3, 3};
  add("causal").causal = true;
  ScoringProblem& window = add("causal window");
  window.causal = true;
  window.window = 2;
  ScoringProblem& both = add("window and lengths");
  both.window = 2;
  both.key_lengths = {3, 2};
  ScoringProblem& beams = add("causal alternatives");
  beams.causal = true;
  beams.positions = {.first_query = 2, .query_step = 0};
  ScoringProblem& dense = add("dense");
  for (int64_t i = 0; i < kBatch * kQueries * kKeys; ++i) {
    dense.dense.push_back(i % kKeys < 3 && i % 5 != 0);
  }
  return problems;
}

void IsReachableByAConfig(const ScoreToCheck& score, Expectations& expect) {
  const Attention config = ConfigFor(score.options);
  expect.True(score.registry.Find(config) == &score.info,
              score.info.name +
                  " is neither a member of regard.Attention.score nor an "
                  "extension of regard.OutsideScore");
  expect.True(!score.info.description.empty(), "it has no description");
}

void GradientsAgreeWithDifferences(const ScoreToCheck& score,
                                   Expectations& expect) {
  constexpr int64_t kBatch = 2;
  constexpr int64_t kQueries = 2;
  constexpr int64_t kKeys = 3;
  const ScoringProblem problem =
      ScoringProblem::Random(kBatch, kQueries, kKeys, score.widths);
  ScorerUnderTest<double> in_double(score.registry, score.options,
                                    score.widths);
  ScorerUnderTest<float> in_float(score.registry, score.options, score.widths);
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
  for (const ParameterInfo& parameter : in_double.scorer_store().parameters()) {
    inputs.push_back({parameter.shape});
  }
  const auto scores = [&]<typename T>(Tape<T>& tape,
                                      absl::Span<const Var<T>> in) {
    ScorerUnderTest<T>* tested;
    if constexpr (std::is_same_v<T, float>) {
      tested = &in_float;
    } else {
      tested = &in_double;
    }
    Forward<T> forward(tape, tested->scorer_store(),
                       in.subspan(first_parameter));
    ScoreInputs<T> score;
    score.queries = in[0];
    score.x = in[first_x];
    score.keys = tested->scorer().Prepare(
        forward, {.keys = in[1], .x = in[first_x + 1]});
    if (first_x > 2) {
      score.previous_weights = in[2];
      score.cumulative_weights = in[3];
    }
    // Scores of -inf have no finite differences, so they are replaced by 0.
    // Their gradient is then 0.
    const Var<T> raw = tested->scorer().Score(forward, score);
    const Var<T> finite = tape.Constant(raw.shape());
    for (int64_t i = 0; i < raw.size(); ++i) {
      finite.data()[i] = std::isfinite(raw.data()[i]);
    }
    return Where(finite, raw, tape.Full({}, T(0)));
  };  // NOLINT(readability/braces)
  const std::vector<double> raw = in_double.Scores(problem).values;
  expect.True(std::any_of(raw.begin(), raw.end(),
                          [](double x) { return std::isfinite(x); }),
              "no score is finite: there is no gradient to check");
  for (const std::string& failure : GradientFailures(
           {MakeCase(score.info.name, "scores", inputs, scores)})) {
    expect.True(false, failure);
  }
}

void FaultFinderFindsNoFault(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  for (const auto& [mask, problem] : MaskedProblems(score.widths)) {
    const std::string fault = scorer.FindNanOrInfinity(problem);
    expect.True(fault.empty(), absl::StrCat(mask, ": ", fault));
  }
}

void PaddingChangesNothing(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem padded = ScoringProblem::Random(2, 3, 6, score.widths);
  const ScoringProblem exact = padded.TakeKeysWithoutMask(Range(0, 3));
  FillHidden(&padded.keys, 2, kNaN);
  FillHidden(&padded.key_x, 1, kNaN);
  FillHidden(&padded.values, 2, kNaN);
  FillHidden(&padded.previous, 3, 0);
  FillHidden(&padded.cumulative, 3, 0);
  padded.key_lengths = {3, 3};
  const ScoringResult got = scorer.Compute(padded);
  const ScoringResult expected = scorer.Compute(exact);
  expect.Near(got.context, expected.context, kRounding, "context");
  expect.Near(Take(got.weights, 3, Range(0, 3)), expected.weights, kRounding,
              "weights");
  expect.Near(scorer.ComputeContextOnly(padded).context, expected.context,
              kRounding, "context without weights");
}

// Padding of queries and keys must not change any bit of the contexts. Some
// lengths are so large that the layer computes blocks of queries.
void PaddingChangesNoBit(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<float> scorer(score.registry, score.options, score.widths);
  for (const auto& [length, padded_length] :
       {std::pair(3, 5), {250, 260}, {510, 515}}) {
    if (scorer.attender().MaxDistance() < padded_length) continue;
    ScoringProblem padded =
        ScoringProblem::Random(2, padded_length, padded_length, score.widths);
    const std::vector<int64_t> kept = Range(0, length);
    ScoringProblem exact =
        padded.TakeQueriesWithoutMask(kept).TakeKeysWithoutMask(kept);
    for (ScoringProblem* problem : {&padded, &exact}) {
      problem->previous = problem->cumulative = {};
    }
    padded.key_lengths = {length, length};
    for (const bool causal : {false, true}) {
      padded.causal = exact.causal = causal;
      const std::string name = absl::StrCat(length, " of ", padded_length);
      expect.Near(Take(scorer.ComputeContextOnly(padded).context, 2, kept),
                  scorer.ComputeContextOnly(exact).context, 0,
                  name + ": context");
      expect.Near(
          Take(scorer.ComputeWeightsAndContext(padded).context, 2, kept),
          scorer.ComputeWeightsAndContext(exact).context, 0,
          name + ": context with weights");
    }
  }
}

void NothingFlowsToMaskedKeys(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  for (const auto& [mask, problem] : MaskedProblems(score.widths)) {
    const std::vector<int64_t> hidden = Range(3, 6);
    for (const bool fused : {false, true}) {
      const ScoringResult result =
          fused ? scorer.ComputeContextOnly(problem) : scorer.Compute(problem);
      if (!fused) expect.AllZero(Take(result.weights, 3, hidden), mask);
      expect.AllZero(Take(result.d_keys, 2, hidden),
                     mask + ": gradient of keys");
      expect.AllZero(Take(result.d_values, 2, hidden),
                     mask + ": gradient of values");
      expect.AllZero(Take(result.d_key_x, 1, hidden),
                     mask + ": gradient of the keys' input");
      expect.AllFinite(result);
    }
  }
}

void MaskedNaNsReachNothing(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  for (const auto& [mask, problem] : MaskedProblems(score.widths)) {
    ScoringProblem of_values = problem;
    FillHidden(&of_values.values, 2, kNaN);
    ScoringProblem of_both = of_values;
    FillHidden(&of_both.keys, 2, kNaN);
    FillHidden(&of_both.key_x, 1, kNaN);
    const ScoringResult expected = scorer.Compute(problem);
    ScoringResult got = scorer.Compute(of_values);
    expect.SameExceptParameterGradients(got, expected, kRounding,
                                        mask + ", NaN in values");
    expect.SameParameterGradients(got, expected, kRounding);
    got = scorer.Compute(of_both);
    expect.Near(got.context, expected.context, kRounding, mask + ": context");
    expect.Near(got.weights, expected.weights, kRounding, mask + ": weights");
    expect.Near(got.d_values, expected.d_values, kRounding,
                mask + ": gradient of the values");
    const ScoringResult fused = scorer.ComputeContextOnly(problem);
    got = scorer.ComputeContextOnly(of_values);
    expect.SameExceptParameterGradients(got, fused, kRounding,
                                        mask + ", fused, NaN in values");
    expect.SameParameterGradients(got, fused, kRounding);
    expect.Near(scorer.ComputeContextOnly(of_both).context, fused.context,
                kRounding, mask + ": fused context");
  }
}

void AllMaskedRowsAreZero(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem problem = ScoringProblem::Random(2, 2, 3, score.widths);
  // The queries of example 0, and query 1 of example 1, see no key.
  problem.key_lengths = {0, 0, 3, 0};
  const ScoringResult result = scorer.Compute(problem);
  expect.AllFinite(result);
  const int64_t first[] = {0};
  const int64_t second[] = {1};
  for (const auto& [array, what] :
       {std::pair(&result.weights, "weights"),
        std::pair(&result.context, "context"),
        std::pair(&result.d_queries, "gradient of the queries")}) {
    expect.AllZero(Take(*array, 0, first), what);
    expect.AllZero(Take(Take(*array, 0, second), 2, second), what);
  }
  expect.AllZero(Take(result.d_query_x, 0, first),
                 "gradient of the queries' input");
  expect.AllZero(Take(result.d_key_x, 0, first), "gradient of the keys' input");
  expect.AllZero(Take(result.d_keys, 0, first), "gradient of the keys");
  expect.AllZero(Take(result.d_values, 0, first), "gradient of the values");
}

void OneKeyHasAllTheWeight(const ScoreToCheck& score, Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  const ScoringProblem problem = ScoringProblem::Random(2, 2, 1, score.widths);
  const ScoringResult result = scorer.Compute(problem);
  const TestArray scores = scorer.Scores(problem);
  expect.AllFinite(result);
  for (size_t i = 0; i < result.weights.values.size(); ++i) {
    // A kernel with bounded support may give the score -inf.
    const bool hidden =
        scores.values[i] == -std::numeric_limits<double>::infinity();
    expect.True(
        result.weights.values[i] == (hidden ? 0 : 1),
        absl::StrCat("the weight of one key is ", result.weights.values[i]));
  }
  expect.AllZero(result.d_queries, "gradient of the queries");
  expect.AllZero(result.d_keys, "gradient of the keys");
  expect.AllZero(result.d_query_x, "gradient of the queries' input");
  expect.AllZero(result.d_key_x, "gradient of the keys' input");
}

void OrderOfPairsMattersOnlyIfPositionAware(const ScoreToCheck& score,
                                            Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem problem = ScoringProblem::Random(2, 3, 5, score.widths);
  const TestArray expected = scorer.Compute(problem).context;
  const int64_t keys[] = {3, 0, 4, 1, 2};
  const auto got = scorer.Compute(problem.TakeKeysWithoutMask(keys)).context;
  if (!score.info.position_aware(score.options)) {
    return expect.Near(got, expected, kRounding,
                       "the order of keys changes the context, but "
                       "kPositionAware is false");
  }
  // A position-aware score may use only the position of the query.
  problem.positions.first_query = 2;
  const TestArray moved = scorer.Compute(problem).context;
  expect.True(LargestDifference(got, expected) > 1e-6 ||
                  LargestDifference(moved, expected) > 1e-6,
              "kPositionAware is true, but neither the order of keys nor the "
              "position of the query changes anything");
}

void PositionsMatterOnlyIfPositionAware(const ScoreToCheck& score,
                                        Expectations& expect) {
  if (score.info.position_aware(score.options)) {
    return expect.Skip("it reads them");
  }
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem problem = ScoringProblem::Random(2, 3, 4, score.widths);
  const TestArray expected = scorer.Compute(problem).context;
  problem.positions = {.first_query = 5, .query_step = 0, .first_key = 2};
  expect.Near(scorer.Compute(problem).context, expected, kRounding,
              "positions change the context, but kPositionAware is false");
}

void OtherQueriesChangeNothing(const ScoreToCheck& score,
                               Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  for (const int64_t step : {1, 0}) {
    for (const bool causal : {false, true}) {
      ScoringProblem problem = ScoringProblem::Random(2, 3, 4, score.widths);
      problem.causal = causal;
      problem.positions = {
          .first_query = 3, .query_step = step, .first_key = 1};
      const ScoringResult together = scorer.Compute(problem);
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t one[] = {i};
        ScoringProblem alone = problem.TakeQueriesWithoutMask(one);
        alone.causal = causal;
        alone.positions = {.first_query = 3 + i * step, .first_key = 1};
        expect.Near(Take(together.context, 2, one),
                    scorer.Compute(alone).context, kRounding,
                    absl::StrCat("query ", i, ", step ", step));
      }
    }
  }
}

// The score must accept distances of up to MaxDistance(). Regard rejects
// configs with larger distances before training.
void AcceptsItsLongestDistance(const ScoreToCheck& score,
                               Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  const int64_t longest = scorer.scorer().MaxDistance();
  if (longest == kUnlimited) return expect.Skip("it accepts all distances");
  expect.True(score.info.position_aware(score.options),
              "a limit of distances, but kPositionAware is false");
  ScoringProblem problem = ScoringProblem::Random(1, 1, 1, score.widths);
  problem.positions.first_query = longest;
  expect.AllFinite(scorer.Compute(problem));
  problem.positions = {.first_query = 0, .first_key = longest};
  expect.AllFinite(scorer.Compute(problem));
  // The key is beyond the longest distance, but the window masks it.
  problem.positions.first_key = longest + 1;
  problem.window = longest + 1;
  expect.AllFinite(scorer.Compute(problem));
}

void ReadsTheHistoryItDeclares(const ScoreToCheck& score,
                               Expectations& expect) {
  if (!score.info.uses_history) return expect.Skip("it declares none");
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  ScoringProblem problem = ScoringProblem::Random(2, 1, 5, score.widths);
  const TestArray before = scorer.Compute(problem).context;
  std::reverse(problem.previous.values.begin(), problem.previous.values.end());
  std::reverse(problem.cumulative.values.begin(),
               problem.cumulative.values.end());
  expect.True(LargestDifference(scorer.Compute(problem).context, before) > 1e-6,
              "kUsesHistory is true, but earlier weights change nothing");
}

void AllStateIsInTheParameters(const ScoreToCheck& score,
                               Expectations& expect) {
  const ScoringProblem problem = ScoringProblem::Random(2, 2, 4, score.widths);
  ScorerUnderTest<double> saved(score.registry, score.options, score.widths,
                                /*seed=*/1);
  ScorerUnderTest<double> loaded(score.registry, score.options, score.widths,
                                 /*seed=*/2);
  for (const ParameterInfo& parameter : saved.store().parameters()) {
    const auto to = loaded.store().FindByName(parameter.name);
    const auto from =
        saved.store().value(*saved.store().FindByName(parameter.name));
    std::copy(from.begin(), from.end(), loaded.store().value(*to).begin());
  }
  expect.SameExceptParameterGradients(loaded.Compute(problem),
                                      saved.Compute(problem), 0, "loaded");
}

void FloatAgreesWithDouble(const ScoreToCheck& score, Expectations& expect) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 5, score.widths);
  ScorerUnderTest<float> in_float(score.registry, score.options, score.widths);
  ScorerUnderTest<double> in_double(score.registry, score.options,
                                    score.widths);
  const ScoringResult got = in_float.Compute(problem);
  const ScoringResult expected = in_double.Compute(problem);
  expect.SameExceptParameterGradients(got, expected, 2e-5, "float");
  expect.SameParameterGradients(got, expected, 2e-5);
}

void InnerFormAgreesWithScoreAndSoftmax(const ScoreToCheck& score,
                                        Expectations& expect) {
  ScorerUnderTest<double> scorer(score.registry, score.options, score.widths);
  auto problems = MaskedProblems(score.widths);
  problems.emplace_back("an empty example",
                        ScoringProblem::Random(2, 3, 5, score.widths));
  problems.back().second.key_lengths = {4, 0};
  // This problem has more queries and keys than one block.
  problems.emplace_back("blocks",
                        ScoringProblem::Random(1, 130, 300, score.widths));
  problems.back().second.positions.first_query = 170;
  problems.back().second.causal = true;
  for (const auto& [mask, problem] : problems) {
    if (!scorer.HasInnerForm(problem)) {
      return expect.Skip("it is not an inner product");
    }
    ScoringResult got = scorer.ComputeContextOnly(problem);
    const ScoringResult expected = scorer.ComputeWeightsAndContext(problem);
    // ComputeContextOnly() returns no weights, so weights are not compared.
    got.weights = expected.weights;
    expect.SameExceptParameterGradients(got, expected, kRounding, mask);
    expect.SameParameterGradients(got, expected, kRounding);
  }
}

}  // namespace

std::optional<ScoreWidths> TestWidths(
    const ScorerInfo& info, const google::protobuf::Message& options) {
  for (const int64_t query : {3, 4}) {
    const ScoreWidths widths = {
        .heads = 2, .query = query, .key = 4, .query_input = 2, .key_input = 1};
    ConfigProblems problems;
    info.validate(options, widths, problems);
    if (problems.ok()) return widths;
  }
  return std::nullopt;
}

Attention ConfigWith(const ScoreToCheck& score, const char* fields) {
  Attention config = ConfigFor(score.options);
  REGARD_CHECK(google::protobuf::TextFormat::MergeFromString(fields, &config));
  ConfigProblems problems;
  score.registry.Validate(config, score.widths, problems);
  REGARD_CHECK(problems.ok()) << fields;
  return config;
}

std::vector<ScoreCheck> ScoreChecks() {
  std::vector<ScoreCheck> checks = {
      {"IsReachableByAConfig", &IsReachableByAConfig},
      {"GradientsAgreeWithDifferences", &GradientsAgreeWithDifferences},
      {"FaultFinderFindsNoFault", &FaultFinderFindsNoFault},
      {"PaddingChangesNothing", &PaddingChangesNothing},
      {"PaddingChangesNoBit", &PaddingChangesNoBit},
      {"NothingFlowsToMaskedKeys", &NothingFlowsToMaskedKeys},
      {"MaskedNaNsReachNothing", &MaskedNaNsReachNothing},
      {"AllMaskedRowsAreZero", &AllMaskedRowsAreZero},
      {"OneKeyHasAllTheWeight", &OneKeyHasAllTheWeight},
      {"OrderOfPairsMattersOnlyIfPositionAware",
       &OrderOfPairsMattersOnlyIfPositionAware},
      {"PositionsMatterOnlyIfPositionAware",
       &PositionsMatterOnlyIfPositionAware},
      {"OtherQueriesChangeNothing", &OtherQueriesChangeNothing},
      {"AcceptsItsLongestDistance", &AcceptsItsLongestDistance},
      {"ReadsTheHistoryItDeclares", &ReadsTheHistoryItDeclares},
      {"AllStateIsInTheParameters", &AllStateIsInTheParameters},
      {"FloatAgreesWithDouble", &FloatAgreesWithDouble},
      {"InnerFormAgreesWithScoreAndSoftmax",
       &InnerFormAgreesWithScoreAndSoftmax},
  };
  for (const auto& more : {ScorePositionChecks(), ScoreBlockChecks(),
                           ScoreSinkChecks(), ScoreForgetChecks()}) {
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace regard
