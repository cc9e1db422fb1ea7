// Tests published values, identities between scores, and statistics of scores.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/scoring_problem.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/random.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

// The score of an attention config such as "dot {}", in double precision.
class Scorer {
 public:
  Scorer(const std::string& config, const ScoreWidths& widths) {
    RegisterBuiltInScores(registry_);
    Attention attention;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention));
    ConfigProblems problems;
    registry_.Validate(attention, widths, problems);
    EXPECT_TRUE(problems.ok()) << config;
    scorer_ = std::make_unique<ScorerUnderTest<double>>(
        registry_, *registry_.ChosenOptions(attention), widths);
  }

  Scorer& Set(const std::string& parameter, const std::vector<double>& values) {
    const auto to =
        scorer_->store().value(*scorer_->store().FindByName(parameter));
    EXPECT_EQ(to.size(), values.size()) << parameter;
    std::copy(values.begin(), values.end(), to.begin());
    return *this;
  }
  std::vector<double> Get(const std::string& parameter) {
    const auto from =
        scorer_->store().value(*scorer_->store().FindByName(parameter));
    return {from.begin(), from.end()};
  }
  int64_t num_parameters() { return scorer_->store().num_elements(); }

  std::vector<double> Scores(const ScoringProblem& problem) {
    return scorer_->Scores(problem).values;
  }
  std::vector<double> Context(const ScoringProblem& problem) {
    return scorer_->Compute(problem).context.values;
  }

 private:
  AttentionRegistry registry_;
  std::unique_ptr<ScorerUnderTest<double>> scorer_;
};

void ExpectNear(const std::vector<double>& got,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
  }
}

std::vector<double> Times(double factor, std::vector<double> values) {
  for (double& value : values) value *= factor;
  return values;
}

constexpr ScoreWidths kTwo = {.heads = 1, .query = 2, .key = 2};
constexpr ScoreWidths kThree = {.heads = 1, .query = 3, .key = 3};

// A problem of two examples with ten keys each. In both examples, the values
// [10, 4] are 0 .. 39.
ScoringProblem PublishedProblem(const std::vector<double>& keys,
                                const TestArray& queries) {
  const int64_t num_queries = queries.shape[2];
  ScoringProblem problem = ScoringProblem::Random(
      2, num_queries, 10, {.heads = 1, .query = queries.shape[3], .key = 2});
  problem.queries = queries;
  problem.keys.values = keys;
  problem.keys.values.insert(problem.keys.values.end(), keys.begin(),
                             keys.end());
  problem.values = {{2, 1, 10, 4}, {}};
  for (int i = 0; i < 80; ++i) problem.values.values.push_back(i % 40);
  return problem;
}

const std::vector<double>& UnequalKeys() {
  static const auto* keys = [] {
    auto* keys = new std::vector<double>;
    for (int i = 0; i < 10; ++i) {
      keys->push_back(0.1 * i);
      keys->push_back(1 - 0.2 * i);
    }
    return keys;
  }();
  return *keys;
}

// Returns a row x, x + 1, x + 2, x + 3 for each x in `first`.
std::vector<double> Rows(const std::vector<double>& first) {
  std::vector<double> values;
  for (const double x : first) {
    for (int i = 0; i < 4; ++i) values.push_back(x + i);
  }
  return values;
}

TEST(PublishedValuesTest, EqualKeysShareTheWeightUpToTheLength) {
  ScoringProblem problem = PublishedProblem(
      std::vector<double>(20, 1), RandomArray({2, 1, 1, 20}, "queries"));
  problem.key_lengths = {2, 6};
  Scorer additive("additive { width: 8 }", {.heads = 1, .query = 20, .key = 2});
  ExpectNear(additive.Context(problem), Rows({2, 10}), 1e-12);
  problem.queries = RandomArray({2, 1, 1, 2}, "queries");
  Scorer scaled_dot("scaled_dot {}", kTwo);
  ExpectNear(scaled_dot.Context(problem), Rows({2, 10}), 1e-12);
}

// Masked keys must have no effect. If masked scores were 0 instead of -inf, the
// contexts would begin with 11.86 and 12.79 instead of 2 and 10.
TEST(PublishedValuesTest, MaskedScoresAreNotFilledWithZero) {
  ScoringProblem problem = PublishedProblem(
      std::vector<double>(20, 1), {{2, 1, 1, 2}, std::vector<double>(4, 1)});
  problem.key_lengths = {2, 6};
  Scorer scaled_dot("scaled_dot {}", kTwo);
  ExpectNear(scaled_dot.Context(problem), Rows({2, 10}), 1e-12);
}

TEST(PublishedValuesTest, UnequalKeysUnderScaledDot) {
  ScoringProblem problem =
      PublishedProblem(UnequalKeys(), {{2, 1, 1, 2}, {1, -1, 1, -1}});
  problem.key_lengths = {2, 6};
  Scorer scaled_dot("scaled_dot {}", kTwo);
  ExpectNear(scaled_dot.Context(problem),
             Rows({2.211340102729, 12.408743827608}), 1e-11);
}

TEST(PublishedValuesTest, LengthsPerQueryUnderScaledDot) {
  ScoringProblem problem = PublishedProblem(
      UnequalKeys(), {{2, 1, 2, 2}, {1, -1, 0.5, 2, 1, -1, 0.5, 2}});
  problem.key_lengths = {1, 3, 2, 6};
  Scorer scaled_dot("scaled_dot {}", kTwo);
  ExpectNear(scaled_dot.Context(problem),
             Rows({0, 3.346682636206, 2.211340102729, 7.216274403992}), 1e-11);
}

// The score must apply the tanh. Without it, the contexts would begin with 2.10
// and 11.16.
TEST(PublishedValuesTest, UnequalKeysUnderAdditive) {
  ScoringProblem problem =
      PublishedProblem(UnequalKeys(), {{2, 1, 1, 2}, {1, -1, 1, -1}});
  problem.key_lengths = {2, 6};
  Scorer additive("additive {}", kTwo);
  additive.Set("w_q", {1, -1, 0.5, 0.5})
      .Set("w_k", {1, 2, 0, 1})
      .Set("w_v", {1, -2});
  ExpectNear(additive.Context(problem), Rows({2.193952259405, 13.519319803269}),
             1e-11);
}

ScoringProblem SelfAttentionExample() {
  ScoringProblem problem = ScoringProblem::Random(1, 3, 3, kThree);
  problem.queries.values = {1, 0, 2, 2, 2, 2, 2, 1, 3};
  problem.keys.values = {0, 1, 1, 4, 4, 0, 2, 3, 1};
  problem.values.values = {1, 2, 3, 2, 8, 0, 2, 6, 3};
  return problem;
}

TEST(PublishedValuesTest, SelfAttentionByDot) {
  const ScoringProblem problem = SelfAttentionExample();
  Scorer dot("dot {}", kThree);
  ExpectNear(dot.Scores(problem), {2, 4, 4, 4, 16, 12, 4, 12, 10}, 1e-12);
  ExpectNear(dot.Context(problem),
             {1.9366210617, 6.6831053083, 1.5950684075,  //
              1.9999939663, 7.9639915951, 0.0539764053,  //
              1.9997046128, 7.7598922547, 0.3583892947},
             1e-9);
}

// The divisor must be sqrt(3). With a divisor of 3, the first context would be
// 1.796, 5.979, 1.806.
TEST(PublishedValuesTest, SelfAttentionByScaledDot) {
  Scorer scaled_dot("scaled_dot {}", kThree);
  ExpectNear(scaled_dot.Context(SelfAttentionExample()),
             {1.8638742024, 6.3193710122, 1.7041886963,  //
              1.9991095526, 7.8141235049, 0.2734720584,  //
              1.9925551076, 7.4796355918, 0.7358772581},
             1e-9);
}

TEST(IdentitiesTest, BilinearWithTheIdentityIsDot) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kTwo);
  Scorer bilinear("bilinear {}", kTwo);
  bilinear.Set("w", {1, 0, 0, 1});
  ExpectNear(bilinear.Scores(problem), Scorer("dot {}", kTwo).Scores(problem),
             1e-12);
}

TEST(IdentitiesTest, BilinearReadsItsMatrixFromQueryToKey) {
  ScoringProblem problem =
      ScoringProblem::Random(1, 1, 1, {.heads = 1, .query = 2, .key = 3});
  problem.queries.values = {1, 10};
  problem.keys.values = {1, 2, 3};
  Scorer bilinear("bilinear {}", {.heads = 1, .query = 2, .key = 3});
  bilinear.Set("w", {1, 2, 3, 4, 5, 6});
  ExpectNear(bilinear.Scores(problem), {14 + 320}, 1e-12);
}

TEST(IdentitiesTest, ScaledDotIsDotOverTheRootOfTheWidth) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kThree);
  ExpectNear(Scorer("scaled_dot {}", kThree).Scores(problem),
             Times(1 / std::sqrt(3), Scorer("dot {}", kThree).Scores(problem)),
             1e-12);
}

TEST(IdentitiesTest, ScaledBilinearIsBilinearOverTheFourthRoot) {
  const ScoreWidths widths = {.heads = 2, .query = 2, .key = 3};
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, widths);
  Scorer bilinear("bilinear {}", widths);
  Scorer scaled("scaled_bilinear {}", widths);
  scaled.Set("w", bilinear.Get("w"));
  ExpectNear(scaled.Scores(problem),
             Times(std::pow(6, -0.25), bilinear.Scores(problem)), 1e-12);
}

TEST(IdentitiesTest, ScaledBilinearWithTheIdentityIsScaledDot) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kTwo);
  Scorer scaled("scaled_bilinear {}", kTwo);
  scaled.Set("w", {1, 0, 0, 1});
  ExpectNear(scaled.Scores(problem),
             Scorer("scaled_dot {}", kTwo).Scores(problem), 1e-12);
}

TEST(IdentitiesTest, ParametricGaussianOfScaleOneIsGaussian) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kThree);
  Scorer fixed("parametric_gaussian { scale { learned: false value: 1 } }",
               kThree);
  Scorer learned("parametric_gaussian {}", kThree);
  learned.Set("w", {1});
  const std::vector<double> expected =
      Scorer("gaussian {}", kThree).Scores(problem);
  ExpectNear(fixed.Scores(problem), expected, 1e-12);
  ExpectNear(learned.Scores(problem), expected, 1e-12);
}

TEST(IdentitiesTest, ParametricGaussianIsAGaussianKernelOfTheInverseWidth) {
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kThree);
  Scorer fixed("parametric_gaussian { scale { learned: false value: 4 } }",
               kThree);
  Scorer kernel("kernel { shape: GAUSSIAN width: 0.25 }", kThree);
  ExpectNear(fixed.Scores(problem), kernel.Scores(problem), 1e-12);
}

TEST(IdentitiesTest, ParametricGaussianTakesAScaleForEachDimension) {
  ScoringProblem problem = ScoringProblem::Random(1, 1, 1, kTwo);
  problem.queries.values = {1, 2};
  problem.keys.values = {4, 1};
  Scorer scorer("parametric_gaussian { scale { per_dimension: true } }", kTwo);
  scorer.Set("w", {2, 3});
  ExpectNear(scorer.Scores(problem), {-(36 + 9) / 2.0}, 1e-12);
}

TEST(IdentitiesTest, CosineOfUnitVectorsIsDotTimesItsScale) {
  ScoringProblem problem = ScoringProblem::Random(2, 3, 4, kTwo);
  for (TestArray* array : {&problem.queries, &problem.keys}) {
    for (size_t i = 0; i < array->values.size(); i += 2) {
      const double angle = array->values[i];
      array->values[i] = std::cos(angle);
      array->values[i + 1] = std::sin(angle);
    }
  }
  Scorer cosine("cosine { scale { learned: false value: 5 } }", kTwo);
  ExpectNear(cosine.Scores(problem),
             Times(5, Scorer("dot {}", kTwo).Scores(problem)), 1e-10);
}

TEST(IdentitiesTest, CosineIgnoresLengthButDotDoesNot) {
  ScoringProblem problem = ScoringProblem::Random(1, 1, 2, kTwo);
  problem.queries.values = {1, 2};
  problem.keys.values = {3, 1, 30, 10};
  Scorer cosine("cosine {}", kTwo);
  const std::vector<double> scores = cosine.Scores(problem);
  EXPECT_NEAR(scores[0], scores[1], 1e-10);
  ExpectNear(Scorer("dot {}", kTwo).Scores(problem), {5, 50}, 1e-12);
}

// The matrix W of `concat` is [W_q W_k], where W_q and W_k are the matrices of
// `additive`.
TEST(IdentitiesTest, ConcatIsAdditiveWithItsMatrixSplit) {
  const ScoreWidths widths = {.heads = 2, .query = 2, .key = 3};
  const ScoringProblem problem = ScoringProblem::Random(2, 3, 4, widths);
  Scorer concat("concat { width: 4 }", widths);
  Scorer additive("additive { width: 4 }", widths);
  const std::vector<double> w = concat.Get("w");
  std::vector<double> w_q, w_k;
  for (size_t i = 0; i < w.size(); ++i) (i % 5 < 2 ? w_q : w_k).push_back(w[i]);
  additive.Set("w_q", w_q).Set("w_k", w_k).Set("w_v", concat.Get("w_v"));
  ExpectNear(concat.Scores(problem), additive.Scores(problem), 1e-12);
}

TEST(IdentitiesTest, CoverageOfNothingIsAdditive) {
  ScoringProblem problem = ScoringProblem::Random(2, 1, 4, kThree);
  Scorer coverage("coverage {}", kThree);
  Scorer location_aware("location_aware {}", kThree);
  Scorer additive("additive { bias: true }", kThree);
  for (const char* name : {"w_q", "w_k", "w_v", "bias"}) {
    additive.Set(name, coverage.Get(name));
    location_aware.Set(name, coverage.Get(name));
  }
  std::fill(problem.previous.values.begin(), problem.previous.values.end(), 0);
  std::fill(problem.cumulative.values.begin(), problem.cumulative.values.end(),
            0);
  const std::vector<double> expected = additive.Scores(problem);
  ExpectNear(coverage.Scores(problem), expected, 1e-12);
  ExpectNear(location_aware.Scores(problem), expected, 1e-12);
}

// The distances between the query and the keys are 1/2, 3/2, 1/4 and 1 times
// the width.
TEST(ValuesTest, KernelsAreLogarithmsOfTheirTextbookForms) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::map<std::string, std::vector<double>> expected = {
      {"GAUSSIAN", {-0.125, -1.125, -0.03125, -0.5}},
      {"BOXCAR", {0, -inf, 0, -inf}},
      {"TRIANGULAR", {std::log(0.5), -inf, std::log(0.75), -inf}},
      {"EPANECHNIKOV", {std::log(0.75), -inf, std::log(0.9375), -inf}},
      {"CONSTANT", {0, 0, 0, 0}}};
  const ScoreWidths one = {.heads = 1, .query = 1, .key = 1};
  ScoringProblem numbers = ScoringProblem::Random(1, 1, 4, one);
  numbers.queries.values = {3};
  numbers.keys.values = {2, 6, 3.5, 5};
  ScoringProblem rows = ScoringProblem::Random(1, 1, 4, kTwo);
  rows.queries.values = {3, 3};
  rows.keys.values = {3.6, 3.8, 1.2, 0.6, 3.3, 2.6, 5, 3};
  for (const auto& [shape, scores] : expected) {
    const std::string config = "kernel { width: 2 shape: " + shape + " }";
    const std::vector<double> of_numbers = Scorer(config, one).Scores(numbers);
    const std::vector<double> of_rows = Scorer(config, kTwo).Scores(rows);
    for (size_t i = 0; i < scores.size(); ++i) {
      if (std::isinf(scores[i])) {
        EXPECT_EQ(of_numbers[i], scores[i]) << shape;
        EXPECT_EQ(of_rows[i], scores[i]) << shape;
      } else {
        EXPECT_NEAR(of_numbers[i], scores[i], 1e-14) << shape;
        EXPECT_NEAR(of_rows[i], scores[i], 1e-14) << shape;
      }
    }
  }
}

TEST(ValuesTest, LocationAwareConvolvesThePreviousWeights) {
  const ScoreWidths one = {.heads = 1, .query = 1, .key = 1};
  ScoringProblem problem = ScoringProblem::Random(1, 1, 3, one);
  problem.previous.values = {0.5, 0.25, 0.125};
  Scorer scorer("location_aware { filters: 1 reach: 1 }", one);
  scorer.Set("w_q", {0}).Set("w_k", {0}).Set("bias", {0.1}).Set("w_v", {2});
  scorer.Set("filters", {1, 2, 4}).Set("w_f", {3});
  ExpectNear(scorer.Scores(problem),
             {2 * std::tanh(0.1 + 3 * (2 * 0.5 + 4 * 0.25)),
              2 * std::tanh(0.1 + 3 * (0.5 + 2 * 0.25 + 4 * 0.125)),
              2 * std::tanh(0.1 + 3 * (0.25 + 2 * 0.125))},
             1e-12);
}

TEST(ValuesTest, CoverageAddsThePreviousWeightsOfEachKey) {
  const ScoreWidths one = {.heads = 1, .query = 1, .key = 1};
  ScoringProblem problem = ScoringProblem::Random(1, 1, 2, one);
  problem.cumulative.values = {0.5, 1.5};
  Scorer scorer("coverage { bias: false }", one);
  scorer.Set("w_q", {0}).Set("w_k", {0}).Set("w_v", {1}).Set("w_c", {-2});
  ExpectNear(scorer.Scores(problem), {std::tanh(-1), std::tanh(-3)}, 1e-12);
}

TEST(ValuesTest, LocationIgnoresKeysBeyondItsLast) {
  const ScoreWidths one = {.heads = 1, .query = 1, .key = 1};
  ScoringProblem problem = ScoringProblem::Random(1, 1, 3, one);
  problem.queries.values = {2};
  problem.values.values = {1, 0, 0, 0, 1, 0, 9, 9, 9};
  Scorer scorer("location { max_keys: 2 }", one);
  scorer.Set("w", {std::log(1), std::log(2)});
  ExpectNear(scorer.Context(problem), {0.2, 0.8, 0}, 1e-12);
}

TEST(ParameterCountsTest, MatchPublishedCounts) {
  const ScoreWidths widths = {.heads = 1, .query = 5, .key = 7};
  EXPECT_EQ(Scorer("additive { width: 8 }", widths).num_parameters(),
            8 * (1 + 5 + 7));
  EXPECT_EQ(Scorer("additive { width: 8 bias: true }", widths).num_parameters(),
            8 * (1 + 5 + 7) + 8);
  EXPECT_EQ(Scorer("concat { width: 8 }", widths).num_parameters(),
            8 * (1 + 5 + 7));
  EXPECT_EQ(Scorer("bilinear {}", widths).num_parameters(), 35);
  EXPECT_EQ(Scorer("scaled_bilinear {}", widths).num_parameters(), 35);
  EXPECT_EQ(Scorer("location { max_keys: 9 }", widths).num_parameters(), 45);
  EXPECT_EQ(Scorer("cosine {}", kThree).num_parameters(), 1);
  EXPECT_EQ(Scorer("cosine { scale { per_dimension: true } }", kThree)
                .num_parameters(),
            3);
  EXPECT_EQ(
      Scorer("cosine { scale { learned: false } }", kThree).num_parameters(),
      0);
}

double Variance(const std::vector<double>& values) {
  double mean = 0;
  for (const double x : values) mean += x / static_cast<double>(values.size());
  double variance = 0;
  for (const double x : values) {
    variance += (x - mean) * (x - mean) / static_cast<double>(values.size());
  }
  return variance;
}

// A problem with independent queries and keys, drawn from N(0, 1).
ScoringProblem NormalProblem(const ScoreWidths& widths) {
  ScoringProblem problem = ScoringProblem::Random(1, 100, 100, widths);
  for (auto [array, name] :
       {std::pair(&problem.queries, "q"), std::pair(&problem.keys, "k")}) {
    const RandomStream random(1, name);
    for (size_t i = 0; i < array->values.size(); ++i) {
      array->values[i] = random.NormalAt(i);
    }
  }
  return problem;
}

TEST(StatisticsTest, ScaledDotHasVarianceOneAtEveryWidthAndDotHasTheWidth) {
  for (const int64_t width : {4, 64, 256}) {
    const ScoreWidths widths = {.heads = 1, .query = width, .key = width};
    const ScoringProblem problem = NormalProblem(widths);
    EXPECT_NEAR(Variance(Scorer("scaled_dot {}", widths).Scores(problem)), 1,
                0.2);
    EXPECT_NEAR(Variance(Scorer("dot {}", widths).Scores(problem)),
                static_cast<double>(width), 0.2 * static_cast<double>(width));
  }
}

TEST(StatisticsTest, ScaledBilinearHasVarianceOneAtUnequalWidths) {
  const ScoreWidths widths = {.heads = 1, .query = 16, .key = 100};
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  Attention config;
  config.mutable_scaled_bilinear();
  ParameterStore<double> store;
  registry.Create<double>(config, store.Root(), widths);
  store.Finalize(/*seed=*/1);
  const auto first = store.value(*store.FindByName("w"));
  Scorer scorer("scaled_bilinear {}", widths);
  scorer.Set("w", {first.begin(), first.end()});
  EXPECT_NEAR(Variance(scorer.Scores(NormalProblem(widths))), 1, 0.2);
}

TEST(OptionsTest, InnerProductsRefuseUnequalWidths) {
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  for (const char* config :
       {"dot {}", "scaled_dot {}", "cosine {}", "gaussian {}", "kernel {}",
        "parametric_gaussian {}"}) {
    Attention attention;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention));
    ConfigProblems problems;
    registry.Validate(attention, {.heads = 1, .query = 2, .key = 3}, problems);
    ASSERT_EQ(problems.problems().size(), 1u) << config;
    EXPECT_EQ(problems.problems()[0].path + " {}", config);
  }
}

TEST(OptionsTest, EveryMemberOfTheOneofIsRegistered) {
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  const auto* members = Attention::descriptor()->FindOneofByName("score");
  // The member `outside` is not a plug-in, so it does not count.
  EXPECT_EQ(registry.plugins().size(),
            static_cast<size_t>(members->field_count() - 1));
}

}  // namespace
}  // namespace regard
