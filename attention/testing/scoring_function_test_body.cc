#include "attention/testing/scoring_function_test_body.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/testing/expect_answers.h"
#include "attention/testing/scoring_problem.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/testing/gradient_check.h"
#include "google/protobuf/text_format.h"
#include "nn/config_problems.h"

namespace regard {

std::string ScoringFunctionCase::Name(
    const ::testing::TestParamInfo<ScoringFunctionCase>& info) {
  std::string name;
  for (const char c : std::string(info.param.options)) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "defaults" : name;
}

void ScoringFunctionTest::SetUp() {
  GetParam().register_score(registry_);
  ASSERT_EQ(registry_.plugins().size(), 1u);
  options_.reset(info().default_options->New());
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().options,
                                                            options_.get()))
      << "test_options: " << GetParam().options;
  for (const int64_t query_width : {3, 4}) {
    widths_ = {.heads = 2, .query = query_width, .key = 4};
    ConfigProblems problems;
    info().validate(options(), widths_, problems);
    if (problems.ok()) return;
    if (query_width == widths_.key) {
      FAIL() << problems.problems()[0].path << ": "
             << problems.problems()[0].message;
    }
  }
}

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

// Sets the elements of keys 3 .. to `value`: `axis` is that of the keys.
void FillHidden(TestArray* array, int axis, double value) {
  const int64_t keys = array->shape[axis];
  const int64_t inner = axis == 2 ? array->shape[3] : 1;
  for (size_t i = 0; i < array->values.size(); ++i) {
    if (static_cast<int64_t>(i) / inner % keys >= 3) array->values[i] = value;
  }
}

// Six keys of which 3, 4 and 5 are hidden from all three queries, each time by
// another mask.
std::vector<std::pair<std::string, ScoringProblem>> MaskedProblems(
    const ScoreWidths& widths) {
  constexpr int64_t kBatch = 2;
  constexpr int64_t kQueries = 3;
  constexpr int64_t kKeys = 6;
  ScoringProblem open = ScoringProblem::Random(kBatch, kQueries, kKeys, widths);
  // Hidden keys never had a weight.
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

}  // namespace

TEST_P(ScoringFunctionTest, IsReachableByAConfig) {
  const Attention config = ConfigFor(options());
  ASSERT_NE(registry_.ChosenOptions(config), nullptr)
      << info().name << " is neither a member of regard.Attention.score nor "
      << "an extension of regard.OutsideScore";
  EXPECT_EQ(registry_.Find(config), &info());
  EXPECT_NE(info().description, "");
}

TEST_P(ScoringFunctionTest, GradientsAgreeWithDifferences) {
  constexpr int64_t kBatch = 2;
  constexpr int64_t kQueries = 2;
  constexpr int64_t kKeys = 3;
  const ScoringProblem problem =
      ScoringProblem::Random(kBatch, kQueries, kKeys, widths_);
  ScorerUnderTest<double> in_double(registry_, options(), widths_);
  ScorerUnderTest<float> in_float(registry_, options(), widths_);
  std::vector<CheckedInput> inputs = {{problem.queries.shape},
                                      {problem.keys.shape}};
  if (info().uses_history) {
    inputs.push_back({problem.previous.shape, 0, 1});
    inputs.push_back({problem.cumulative.shape, 0, 2});
  }
  const size_t first_parameter = inputs.size();
  for (const ParameterInfo& parameter : in_double.store().parameters()) {
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
    Forward<T> forward(tape, tested->store(), in.subspan(first_parameter));
    ScoreInputs<T> score;
    score.queries = in[0];
    score.keys = tested->scorer().Prepare(forward, in[1], /*key_position=*/0);
    if (first_parameter > 2) {
      score.previous_weights = in[2];
      score.cumulative_weights = in[3];
    }
    // -inf has no differences, and passes a gradient of 0.
    const Var<T> raw = tested->scorer().Score(forward, score);
    const Var<T> finite = tape.Constant(raw.shape());
    for (int64_t i = 0; i < raw.size(); ++i) {
      finite.data()[i] = std::isfinite(raw.data()[i]);
    }
    return Where(finite, raw, tape.Full({}, T(0)));
  };  // NOLINT(readability/braces)
  const std::vector<double> raw = in_double.Scores(problem).values;
  EXPECT_TRUE(std::any_of(raw.begin(), raw.end(), [](double score) {
    return std::isfinite(score);
  })) << "no score is finite: there is no gradient to check";
  CheckGradients({MakeCase(info().name, "scores", inputs, scores)});
}

TEST_P(ScoringFunctionTest, FaultFinderFindsNone) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  for (const auto& [mask, problem] : MaskedProblems(widths_)) {
    EXPECT_EQ(scorer.FaultOf(problem), "") << mask;
  }
}

TEST_P(ScoringFunctionTest, PaddingChangesNothing) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  ScoringProblem padded = ScoringProblem::Random(2, 3, 6, widths_);
  const ScoringProblem exact = padded.TakeKeys(Range(0, 3));
  FillHidden(&padded.keys, 2, kNaN);
  FillHidden(&padded.values, 2, kNaN);
  FillHidden(&padded.previous, 3, 0);
  FillHidden(&padded.cumulative, 3, 0);
  padded.key_lengths = {3, 3};
  const ScoringAnswer got = scorer.Answer(padded);
  const ScoringAnswer expected = scorer.Answer(exact);
  ExpectNear(got.context, expected.context, kRounding, "context");
  ExpectNear(Take(got.weights, 3, Range(0, 3)), expected.weights, kRounding,
             "weights");
  ExpectNear(scorer.FusedAnswer(padded).context, expected.context, kRounding,
             "context without weights");
}

TEST_P(ScoringFunctionTest, NothingFlowsToMaskedKeys) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  for (const auto& [mask, problem] : MaskedProblems(widths_)) {
    const std::vector<int64_t> hidden = Range(3, 6);
    for (const bool fused : {false, true}) {
      const ScoringAnswer answer =
          fused ? scorer.FusedAnswer(problem) : scorer.Answer(problem);
      if (!fused) ExpectZero(Take(answer.weights, 3, hidden), mask);
      ExpectZero(Take(answer.d_keys, 2, hidden), mask + ": gradient of keys");
      ExpectZero(Take(answer.d_values, 2, hidden),
                 mask + ": gradient of values");
      ExpectFinite(answer);
    }
  }
}

TEST_P(ScoringFunctionTest, HiddenNaNsReachNothing) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  for (const auto& [mask, problem] : MaskedProblems(widths_)) {
    ScoringProblem of_values = problem;
    FillHidden(&of_values.values, 2, kNaN);
    ScoringProblem of_both = of_values;
    FillHidden(&of_both.keys, 2, kNaN);
    const ScoringAnswer expected = scorer.Answer(problem);
    ScoringAnswer got = scorer.Answer(of_values);
    ExpectSameAnswer(got, expected, kRounding, mask + ", NaN in values");
    ExpectSameParameterGradients(got, expected, kRounding);
    got = scorer.Answer(of_both);
    ExpectNear(got.context, expected.context, kRounding, mask + ": context");
    ExpectNear(got.weights, expected.weights, kRounding, mask + ": weights");
    ExpectNear(got.d_values, expected.d_values, kRounding,
               mask + ": gradient of the values");
    const ScoringAnswer fused = scorer.FusedAnswer(problem);
    got = scorer.FusedAnswer(of_values);
    ExpectSameAnswer(got, fused, kRounding, mask + ", fused, NaN in values");
    ExpectSameParameterGradients(got, fused, kRounding);
    ExpectNear(scorer.FusedAnswer(of_both).context, fused.context, kRounding,
               mask + ": fused context");
  }
}

TEST_P(ScoringFunctionTest, AllMaskedRowsAreZero) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  ScoringProblem problem = ScoringProblem::Random(2, 2, 3, widths_);
  // All of example 0, and query 1 of example 1.
  problem.key_lengths = {0, 0, 3, 0};
  const ScoringAnswer answer = scorer.Answer(problem);
  ExpectFinite(answer);
  const int64_t first[] = {0};
  const int64_t second[] = {1};
  for (const auto& [array, what] :
       {std::pair(&answer.weights, "weights"),
        std::pair(&answer.context, "context"),
        std::pair(&answer.d_queries, "gradient of the queries")}) {
    ExpectZero(Take(*array, 0, first), what);
    ExpectZero(Take(Take(*array, 0, second), 2, second), what);
  }
  ExpectZero(Take(answer.d_keys, 0, first), "gradient of the keys");
  ExpectZero(Take(answer.d_values, 0, first), "gradient of the values");
}

TEST_P(ScoringFunctionTest, OneKeyHasAllTheWeight) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  const ScoringProblem problem = ScoringProblem::Random(2, 2, 1, widths_);
  const ScoringAnswer answer = scorer.Answer(problem);
  const TestArray scores = scorer.Scores(problem);
  ExpectFinite(answer);
  for (size_t i = 0; i < answer.weights.values.size(); ++i) {
    // A compact kernel may see none.
    const bool hidden =
        scores.values[i] == -std::numeric_limits<double>::infinity();
    EXPECT_EQ(answer.weights.values[i], hidden ? 0 : 1);
  }
  ExpectZero(answer.d_queries, "gradient of the queries");
  ExpectZero(answer.d_keys, "gradient of the keys");
}

TEST_P(ScoringFunctionTest, OrderOfPairsMattersOnlyIfPositionAware) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 5, widths_);
  const int64_t order[] = {3, 0, 4, 1, 2};
  const TestArray expected = scorer.Answer(problem).context;
  const TestArray got = scorer.Answer(problem.TakeKeys(order)).context;
  if (info().position_aware) {
    EXPECT_GT(LargestDifference(got, expected), 1e-6)
        << "kPositionAware is true, but the order of keys changes nothing";
  } else {
    ExpectNear(got, expected, kRounding,
               "the order of keys changes the context, but kPositionAware is "
               "false");
  }
}

TEST_P(ScoringFunctionTest, PositionsMatterOnlyIfPositionAware) {
  if (info().position_aware) GTEST_SKIP() << "it reads them";
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  ScoringProblem problem = ScoringProblem::Random(2, 3, 4, widths_);
  const TestArray expected = scorer.Answer(problem).context;
  problem.positions = {.first_query = 5, .query_step = 0, .first_key = 2};
  ExpectNear(scorer.Answer(problem).context, expected, kRounding,
             "positions change the context, but kPositionAware is false");
}

TEST_P(ScoringFunctionTest, OtherQueriesChangeNothing) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  for (const int64_t step : {1, 0}) {
    for (const bool causal : {false, true}) {
      ScoringProblem problem = ScoringProblem::Random(2, 3, 4, widths_);
      problem.causal = causal;
      problem.positions = {
          .first_query = 3, .query_step = step, .first_key = 1};
      const ScoringAnswer together = scorer.Answer(problem);
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t one[] = {i};
        ScoringProblem alone = problem.TakeQueries(one);
        alone.causal = causal;
        alone.positions = {.first_query = 3 + i * step, .first_key = 1};
        ExpectNear(Take(together.context, 2, one), scorer.Answer(alone).context,
                   kRounding, absl::StrCat("query ", i, ", step ", step));
      }
    }
  }
}

TEST_P(ScoringFunctionTest, PrepareIsRowWise) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  const TestArray keys =
      RandomArray({2, widths_.heads, 5, widths_.key}, "keys");
  const TestArray whole = scorer.Prepared(keys, /*first_key=*/2);
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t one[] = {i};
    ExpectNear(scorer.Prepared(Take(keys, 2, one), 2 + i), Take(whole, 2, one),
               kRounding, absl::StrCat("key ", i));
  }
}

// A config error before training relies on what the score declares.
TEST_P(ScoringFunctionTest, AcceptsItsLongestDistanceAndNoMore) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  const int64_t longest = scorer.scorer().LongestDistance();
  if (longest == kUnlimited) GTEST_SKIP() << "it accepts all distances";
  EXPECT_TRUE(info().position_aware);
  ScoringProblem problem = ScoringProblem::Random(1, 1, 1, widths_);
  problem.positions.first_query = longest;
  ExpectFinite(scorer.Answer(problem));
  problem.positions = {.first_query = 0, .first_key = longest};
  ExpectFinite(scorer.Answer(problem));
  problem.positions.first_key = longest + 1;
  EXPECT_DEATH(scorer.Answer(problem), "");
}

TEST_P(ScoringFunctionTest, ReadsTheHistoryItDeclares) {
  if (!info().uses_history) GTEST_SKIP() << "it declares none";
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  ScoringProblem problem = ScoringProblem::Random(2, 1, 5, widths_);
  const TestArray before = scorer.Answer(problem).context;
  std::reverse(problem.previous.values.begin(), problem.previous.values.end());
  std::reverse(problem.cumulative.values.begin(),
               problem.cumulative.values.end());
  EXPECT_GT(LargestDifference(scorer.Answer(problem).context, before), 1e-6);
}

TEST_P(ScoringFunctionTest, ParametersAreAllThereIsToSave) {
  const ScoringProblem problem = ScoringProblem::Random(2, 2, 4, widths_);
  ScorerUnderTest<double> saved(registry_, options(), widths_, /*seed=*/1);
  ScorerUnderTest<double> loaded(registry_, options(), widths_, /*seed=*/2);
  for (const ParameterInfo& parameter : saved.store().parameters()) {
    const auto to = loaded.store().FindByName(parameter.name);
    ASSERT_TRUE(to.has_value()) << parameter.name;
    const auto from =
        saved.store().value(*saved.store().FindByName(parameter.name));
    std::copy(from.begin(), from.end(), loaded.store().value(*to).begin());
  }
  ExpectSameAnswer(loaded.Answer(problem), saved.Answer(problem), 0, "loaded");
}

TEST_P(ScoringFunctionTest, FloatAgreesWithDouble) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 5, widths_);
  ScorerUnderTest<float> in_float(registry_, options(), widths_);
  ScorerUnderTest<double> in_double(registry_, options(), widths_);
  const ScoringAnswer got = in_float.Answer(problem);
  const ScoringAnswer expected = in_double.Answer(problem);
  ExpectSameAnswer(got, expected, 2e-5, "float");
  ExpectSameParameterGradients(got, expected, 2e-5);
}

TEST_P(ScoringFunctionTest, AttendAgreesWithScoreAndSoftmax) {
  ScorerUnderTest<double> scorer(registry_, options(), widths_);
  auto problems = MaskedProblems(widths_);
  problems.emplace_back("an empty example",
                        ScoringProblem::Random(2, 3, 5, widths_));
  problems.back().second.key_lengths = {4, 0};
  for (const auto& [mask, problem] : problems) {
    if (!scorer.HasFusedContext(problem))
      GTEST_SKIP() << "it has no FusedContext()";
    ScoringAnswer got = scorer.FusedAnswer(problem);
    const ScoringAnswer expected = scorer.ReferenceAnswer(problem);
    got.weights = expected.weights;  // the fused kernel has none
    ExpectSameAnswer(got, expected, kRounding, mask);
    ExpectSameParameterGradients(got, expected, kRounding);
  }
}

}  // namespace regard
