#include "attention/score_scale.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/scoring_problem.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

ScoreWidths Widths(int64_t width) {
  return {.heads = 1, .query = width, .key = width};
}

// The score of an attention config, in double, for vectors of width `width`.
class Score {
 public:
  Score(const std::string& config, int64_t width) {
    RegisterBuiltInScores(registry_);
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention_))
        << config;
    scorer_ = std::make_unique<ScorerUnderTest<double>>(registry_, attention_,
                                                        Widths(width));
  }

  Score& Set(const std::string& parameter, const std::vector<double>& values) {
    const auto to =
        scorer_->store().value(*scorer_->store().FindByName(parameter));
    EXPECT_EQ(to.size(), values.size());
    std::copy(values.begin(), values.end(), to.begin());
    return *this;
  }
  std::vector<double> Of(const ScoringProblem& problem) {
    return scorer_->Scores(problem).values;
  }
  ScoringResult Compute(const ScoringProblem& problem) {
    return scorer_->Compute(problem);
  }
  int64_t num_parameters() { return scorer_->store().num_elements(); }
  ParameterRole RoleOf(const std::string& parameter) {
    const auto& store = scorer_->store();
    return store.info(*store.FindByName(parameter)).options.role;
  }
  bool HasInnerForm(const ScoringProblem& problem) {
    return scorer_->HasInnerForm(problem);
  }

 private:
  AttentionRegistry registry_;
  Attention attention_;
  std::unique_ptr<ScorerUnderTest<double>> scorer_;
};

// Without a factor, the scores are 2, 4 and 4.
ScoringProblem ThreeKeys() {
  ScoringProblem problem = ScoringProblem::Random(1, 1, 3, Widths(3));
  problem.queries.values = {1, 0, 2};
  problem.keys.values = {0, 1, 1, 4, 4, 0, 2, 3, 1};
  return problem;
}

std::vector<double> FixedDot(const std::string& scale) {
  return Score("dot { scale { learned: false " + scale + " } }", 3)
      .Of(ThreeKeys());
}

TEST(ScoreScaleTest, AFixedFactorIsItsValueOverTheWidthOrItsRoot) {
  EXPECT_THAT(FixedDot(""), ElementsAre(2, 4, 4));
  EXPECT_THAT(FixedDot("value: -0.5"), ElementsAre(-1, -2, -2));
  EXPECT_THAT(FixedDot("divided_by: WIDTH value: 6"), ElementsAre(4, 8, 8));
  const double five = 5 / std::sqrt(3);
  EXPECT_THAT(
      FixedDot("divided_by: ROOT_OF_WIDTH value: 5"),
      ElementsAre(DoubleNear(2 * five, 1e-12), DoubleNear(4 * five, 1e-12),
                  DoubleNear(4 * five, 1e-12)));
}

TEST(ScoreScaleTest, ALearnedFactorIsOneForAllOrOneForEachDimension) {
  Score one("dot { scale {} }", 3);
  EXPECT_EQ(one.num_parameters(), 1);
  EXPECT_THAT(one.Set("scale", {5}).Of(ThreeKeys()), ElementsAre(10, 20, 20));
  Score each("dot { scale { per_dimension: true } }", 3);
  EXPECT_EQ(each.num_parameters(), 3);
  EXPECT_THAT(each.Set("scale", {3, 100, 0.5}).Of(ThreeKeys()),
              ElementsAre(1, 12, 7));
}

TEST(ScoreScaleTest, ScalesAndBiasesAreNotMatrices) {
  EXPECT_EQ(Score("dot { scale { per_dimension: true } }", 3).RoleOf("scale"),
            ParameterRole::kHeadBias);
  Score additive("additive { bias: true }", 3);
  EXPECT_EQ(additive.RoleOf("bias"), ParameterRole::kHeadBias);
  EXPECT_EQ(additive.RoleOf("w_v"), ParameterRole::kWeight);
  Score formula("formula { score: 'v . tanh(W q + U k + b)' }", 3);
  EXPECT_EQ(formula.RoleOf("b"), ParameterRole::kHeadBias);
  EXPECT_EQ(formula.RoleOf("W"), ParameterRole::kWeight);
  Score table(
      "formula { score: 'b[i - j]' parameter { name: 'b' table { highest: 3 } "
      "} }",
      3);
  EXPECT_EQ(table.RoleOf("b"), ParameterRole::kHeadBias);
}

TEST(ScoreScaleTest, BilinearHasAFactor) {
  ScoringProblem problem = ScoringProblem::Random(1, 1, 1, Widths(2));
  problem.queries.values = {1, 10};
  problem.keys.values = {2, 3};
  Score bilinear("bilinear { scale { learned: false divided_by: WIDTH } }", 2);
  EXPECT_THAT(bilinear.Set("w", {1, 2, 3, 4}).Of(problem),
              ElementsAre((8 + 180) / 2.0));
}

TEST(ScoreScaleTest, DotOverTheRootOfTheWidthIsScaledDotInBits) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, Widths(3));
  Score dot("dot { scale { learned: false divided_by: ROOT_OF_WIDTH } }", 3);
  Score scaled_dot("scaled_dot {}", 3);
  EXPECT_EQ(dot.num_parameters(), 0);
  EXPECT_EQ(dot.Of(problem), scaled_dot.Of(problem));
  EXPECT_EQ(dot.Compute(problem).context.values,
            scaled_dot.Compute(problem).context.values);
}

TEST(ScoreScaleTest, AScaledInnerProductHasInnerForm) {
  for (const std::string score : {"dot", "bilinear", "cosine"}) {
    for (const std::string scale :
         {"", "scale {}", "scale { learned: false value: 3 }",
          "scale { per_dimension: true divided_by: WIDTH }"}) {
      const std::string config = score + " { " + scale + " }";
      EXPECT_TRUE(Score(config, 3).HasInnerForm(ThreeKeys())) << config;
    }
  }
}

// The initial value of the parameter "scale", for vectors of width 4.
double FirstValue(const std::string& config) {
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  Attention attention;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(config, &attention));
  ParameterStore<double> store;
  registry.Create<double>(attention, store.Root(), Widths(4));
  store.Finalize(1);
  return store.value(*store.FindByName("scale"))[0];
}

TEST(ScoreScaleTest, ALearnedFactorBeginsAtTheDividedValue) {
  EXPECT_EQ(FirstValue("dot { scale {} }"), 1);
  EXPECT_EQ(FirstValue("dot { scale { divided_by: WIDTH value: 3 } }"), 0.75);
  EXPECT_EQ(FirstValue("bilinear { scale { divided_by: ROOT_OF_WIDTH } }"),
            0.5);
  EXPECT_EQ(FirstValue("cosine {}"), 10);
  EXPECT_EQ(FirstValue("cosine { scale { divided_by: ROOT_OF_WIDTH } }"), 5);
}

// 1e300 is infinite as a float, so it must be an error.
TEST(ScoreScaleTest, AValueIsAFiniteFloat) {
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  for (const std::string score :
       {"bilinear", "cosine", "dot", "parametric_gaussian"}) {
    Attention attention;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        score + " { scale { value: 1e300 } }", &attention));
    ConfigProblems problems;
    registry.Validate(attention, Widths(2), problems);
    ASSERT_EQ(problems.problems().size(), 1u) << score;
    EXPECT_EQ(problems.problems()[0].path, score + ".scale.value");
  }
}

}  // namespace
}  // namespace regard
