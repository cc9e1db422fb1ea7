#include "attention/checks/normalizer_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/config_choice.h"
#include "attention/checks/scoring_problem.h"
#include "attention/kernels/masked_normalize.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/normalizers/softmax_rule.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

namespace {

constexpr double kRounding = 1e-12;
constexpr ScoreWidths kWidths = {.heads = 2, .query = 4, .key = 4};

// A normalizer with its own parameters.
template <typename T>
class NormalizerUnderTest {
 public:
  explicit NormalizerUnderTest(const NormalizerToCheck& checked)
      : rule_(checked.registry.template Create<T>(
            ConfigWithChoice<NormalizerConfig>(checked.options), store_.Root(),
            kWidths)) {
    store_.Finalize(1);
    Tape<T> tape;
    Forward<T> forward(tape, store_, nullptr);
    forward.BeginStep();
    const Var<T> all = rule_->Parameters(forward);
    if (!all.has_value()) return;
    of_first_head_.assign(all.data(), all.data() + all.dim(1));
  }

  ParameterStore<T>& store() { return store_; }
  const Normalizer<T>& rule() const { return *rule_; }

  // The weights of a row of the first head. Overwrites `scratch`, which must be
  // at least as long as the row.
  std::vector<T> Weights(std::vector<T> scores, std::vector<T>* scratch) const {
    Replace(std::ssize(scores), &scores, scratch);
    return scores;
  }
  std::vector<T> Weights(const std::vector<T>& scores) const {
    std::vector<T> scratch(scores.size());
    return Weights(scores, &scratch);
  }
  // Normalizes the first n scores in place.
  void Replace(int64_t n, std::vector<T>* scores,
               std::vector<T>* scratch) const {
    rule_->Normalize(n, of_first_head_.data(), scores->data(), scratch->data());
  }

 private:
  ParameterStore<T> store_;
  std::unique_ptr<Normalizer<T>> rule_;
  std::vector<T> of_first_head_;
};

template <typename T>
std::vector<T> Row(int64_t n) {
  const TestArray row = RandomArray({n}, absl::StrCat("row of ", n));
  std::vector<T> scores;
  for (const double x : row.values) scores.push_back(static_cast<T>(2 * x));
  return scores;
}

template <typename T>
TestArray ArrayOf(const std::vector<T>& row) {
  return {{std::ssize(row)}, {row.begin(), row.end()}};
}

void IsReachableByAConfig(const NormalizerToCheck& checked,
                          Expectations& expect) {
  const auto config = ConfigWithChoice<NormalizerConfig>(checked.options);
  expect.True(checked.registry.Find(config) == &checked.info,
              checked.info.name +
                  " is neither a member of regard.NormalizerConfig.normalizer "
                  "nor an extension of regard.OutsideNormalizer");
  expect.True(!checked.info.description.empty(), "it has no description");
}

// Checks gradients of scores, of a sink and of parameters, over rows of two
// heads.
void GradientsAgreeWithDifferences(const NormalizerToCheck& checked,
                                   Expectations& expect) {
  NormalizerUnderTest<double> in_double(checked);
  NormalizerUnderTest<float> in_float(checked);
  for (const int64_t keys : {1, 2, 5, 17}) {
    std::vector<TestInputSpec> inputs = {{{2, 2, 3, keys}, -2, 2}};
    const bool has_sink = !checked.info.independent_weights;
    if (has_sink) inputs.push_back({{2}});
    for (const ParameterInfo& parameter : in_double.store().parameters()) {
      inputs.push_back({parameter.shape});
    }
    const auto normalize = [&]<typename T>(Tape<T>& tape,
                                           absl::Span<const Var<T>> in) {
      NormalizerUnderTest<T>* tested;
      if constexpr (std::is_same_v<T, float>) {
        tested = &in_float;
      } else {
        tested = &in_double;
      }
      const size_t first = has_sink ? 2 : 1;
      Forward<T> forward(tape, tested->store(), in.subspan(first));
      return MaskedNormalize<T>(
          in[0], tested->rule(), {}, {},
          {.sink = has_sink ? in[1] : Var<T>(),
           .parameters = tested->rule().Parameters(forward)});
    };  // NOLINT(readability/braces)
    for (const std::string& failure : GradientFailures(
             {MakeCase(checked.info.name, absl::StrCat(keys, " keys"), inputs,
                       normalize)})) {
      expect.True(false, failure);
    }
  }
}

void DependsOnOtherScoresUnlessItSaysSo(const NormalizerToCheck& checked,
                                        Expectations& expect) {
  const NormalizerUnderTest<double> tested(checked);
  std::vector<double> scores = Row<double>(5);
  const std::vector<double> before = tested.Weights(scores);
  // Makes scores[0] the largest score, so that other weights change even if the
  // normalizer is sparse.
  scores[0] = 3;
  const std::vector<double> after = tested.Weights(scores);
  const bool same = std::equal(before.begin() + 1, before.end(),  //
                               after.begin() + 1);
  expect.True(
      same == checked.info.independent_weights,
      absl::StrCat("a score ", same ? "changes no" : "changes another",
                   " weight, but kIndependentWeights is ",
                   checked.info.independent_weights ? "true" : "false"));
}

void IsTheSameInAnyOrder(const NormalizerToCheck& checked,
                         Expectations& expect) {
  const NormalizerUnderTest<double> tested(checked);
  for (const int64_t n : {2, 7, 33}) {
    std::vector<double> scores = Row<double>(n);
    const std::vector<double> expected = tested.Weights(scores);
    std::reverse(scores.begin(), scores.end());
    std::vector<double> got = tested.Weights(scores);
    std::reverse(got.begin(), got.end());
    expect.Near(ArrayOf(got), ArrayOf(expected), kRounding,
                absl::StrCat(n, " scores in reverse"));
  }
}

// Memory beyond the row and old contents of the scratch memory must have no
// effect.
void ReadsAndWritesOnlyItsRow(const NormalizerToCheck& checked,
                              Expectations& expect) {
  constexpr float kGuard = 12345;
  const NormalizerUnderTest<float> tested(checked);
  for (const int64_t n : {1, 4, 9}) {
    const std::vector<float> expected = tested.Weights(Row<float>(n));
    for (const float* weight = expected.data();  //
         weight != expected.data() + n; ++weight) {
      expect.True(*weight >= 0, absl::StrCat("a weight of ", *weight));
    }
    std::vector<float> scores = Row<float>(n);
    scores.insert(scores.end(), 4, kGuard);
    std::vector<float> scratch(static_cast<size_t>(n) + 4, kGuard);
    tested.Replace(n, &scores, &scratch);
    for (size_t i = static_cast<size_t>(n); i < scores.size(); ++i) {
      expect.True(scores[i] == kGuard && scratch[i] == kGuard,
                  absl::StrCat("writes beyond a row of ", n));
    }
    scores.resize(static_cast<size_t>(n));
    expect.Near(ArrayOf(scores), ArrayOf(expected), 0,
                absl::StrCat("a row of ", n));
  }
}

// Single steps must be bit-identical to a call with all queries. The layer has
// a score that is computed row by row.
void StepByStepHasTheBitsOfAllAtOnce(const NormalizerToCheck& checked,
                                     Expectations& expect) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention config;
  config.mutable_gaussian();
  SetChoice(checked.options, config.mutable_normalizer());
  if (scorers.normalizers.Find(config.normalizer()) == nullptr) {
    checked.register_normalizer(scorers.normalizers);
  }
  ScorerUnderTest<float> scorer(scorers, config, kWidths);
  ScoringProblem problem = ScoringProblem::Random(1, 20, 20, kWidths);
  problem.causal = true;
  expect.Near(
      scorer.ComputeContextStepwise(problem, /*want_weights=*/true).context,
      scorer.Compute(problem).context, 0, "20 steps");
}

void IsSoftmaxWhereItSaysSo(const NormalizerToCheck& checked,
                            Expectations& expect) {
  if (!checked.is_plain) return expect.Skip("it is not with these options");
  const NormalizerUnderTest<float> tested(checked);
  for (const int64_t n : {1, 3, 200}) {
    std::vector<float> expected = Row<float>(n);
    ApplySoftmax(n, expected.data());
    expect.Near(ArrayOf(tested.Weights(Row<float>(n))), ArrayOf(expected), 0,
                absl::StrCat(n, " scores"));
  }
}

}  // namespace

std::vector<NormalizerCheck> NormalizerChecks() {
  return {
      {"IsReachableByAConfig", &IsReachableByAConfig},
      {"GradientsAgreeWithDifferences", &GradientsAgreeWithDifferences},
      {"DependsOnOtherScoresUnlessItSaysSo",
       &DependsOnOtherScoresUnlessItSaysSo},
      {"IsTheSameInAnyOrder", &IsTheSameInAnyOrder},
      {"ReadsAndWritesOnlyItsRow", &ReadsAndWritesOnlyItsRow},
      {"StepByStepHasTheBitsOfAllAtOnce", &StepByStepHasTheBitsOfAllAtOnce},
      {"IsSoftmaxWhereItSaysSo", &IsSoftmaxWhereItSaysSo},
  };
}

}  // namespace regard
