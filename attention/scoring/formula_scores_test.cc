// Compares each built-in score with a formula of this score. Values and
// gradients must agree. They must be bit-identical if both use the same kernel.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/expectations.h"
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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Ne;
using ::testing::StartsWith;

// A parameter of the formula that must equal columns of a parameter of the
// built-in score. The columns are [first, first + count), or all columns if
// `count` is 0.
struct SameParameter {
  const char* of_formula;
  const char* of_score;
  int64_t first = 0;
  int64_t count = 0;
};

struct SameScore {
  const char* score;
  const char* formula;  // fields of FormulaScore
  std::vector<SameParameter> parameters = {};
  bool same_bits = false;
  bool equal_widths = true;
};

const std::vector<SameScore>& SameScores() {
  static const auto* scores = new std::vector<SameScore>{
      {"average {}", "score: '0'", {}, true, false},
      {"kernel { shape: GAUSSIAN width: 2 }",
       "score: '-sum((q - k)^2) / (2 * 2^2)'"},
      {"kernel { shape: BOXCAR width: 1.5 }",
       "score: 'where(norm(q - k) < 1.5, 0, log(0))'"},
      {"kernel { shape: TRIANGULAR width: 1.5 }",
       "score: 'log(relu(1 - norm(q - k) / 1.5))'"},
      {"kernel { shape: TRIANGULAR width: 9 }",
       "score: 'log(relu(1 - norm(q - k) / 9))'"},
      {"kernel { shape: CONSTANT }", "score: '1 - 1'", {}, true},
      {"kernel { shape: EPANECHNIKOV width: 1.5 }",
       "score: 'log(relu(1 - norm(q - k)^2 / 1.5^2))'"},
      {"kernel { shape: EPANECHNIKOV width: 9 }",
       "score: 'log(relu(1 - norm(q - k)^2 / 9^2))'"},
      {"gaussian {}", "score: '-norm(q - k)^2 / 2'", {}, true},
      {"gaussian {}", "score: '-((k - q) . (k - q)) / 2'", {}, true},
      {"parametric_gaussian {}",
       "score: '-norm((q - k) * w)^2 / 2'",
       {{"w", "w"}},
       true},
      {"parametric_gaussian { scale { per_dimension: true } }",
       "score: '-norm((q - k) * w)^2 / 2' parameter { name: 'w' rows: 4 }",
       {{"w", "w"}},
       true},
      {"dot {}", "score: 'q . k'", {}, true},
      {"dot { scale {} }", "score: 's * q . k'", {{"s", "scale"}}, true},
      {"dot { scale { learned: false divided_by: WIDTH value: 3 } }",
       "score: '3 * q . k / d'",
       {},
       true},
      {"dot { scale { per_dimension: true } }",
       "score: '(q * g) . k' parameter { name: 'g' rows: 4 }",
       {{"g", "scale"}},
       true},
      {"scaled_dot {}", "score: 'q . k / sqrt(d)'", {}, true},
      {"additive { width: 5 }",
       "score: 'v . tanh(W q + U k)' width: 5",
       {{"v", "w_v"}, {"W", "w_q"}, {"U", "w_k"}},
       true,
       false},
      {"additive { bias: true }",
       "score: 'v . tanh(W q + U k + b)'",
       {{"v", "w_v"}, {"W", "w_q"}, {"U", "w_k"}, {"b", "bias"}},
       true,
       false},
      {"concat { width: 5 }",
       "score: 'v . tanh(W q + U k)' width: 5",
       {{"v", "w_v"}, {"W", "w", 0, 3}, {"U", "w", 3, 4}},
       true,
       false},
      {"bilinear {}", "score: 'q . W k'", {{"W", "w"}}, true, false},
      {"bilinear { scale {} }",
       "score: 's * q . W k'",
       {{"W", "w"}, {"s", "scale"}},
       true,
       false},
      {"scaled_bilinear {}",
       "score: 'q . W k / sqrt(sqrt(dq * dk))'",
       {{"W", "w"}},
       false,
       false},
      {"cosine {}",
       "score: 's * q . k / (sqrt(sum(q^2) + 1e-12) * sqrt(sum(k^2) + 1e-12))'",
       {{"s", "scale"}}},
  };
  return *scores;
}

Attention ConfigOf(const std::string& text) {
  Attention config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// Returns the columns of `whole` [.., columns] that `parameter` refers to.
TestArray Part(const TestArray& whole, const SameParameter& parameter) {
  if (parameter.count == 0) return whole;
  return Take(whole, whole.shape.rank() - 1,
              Range(parameter.first, parameter.first + parameter.count));
}

template <typename T>
void ExpectSameScore(const SameScore& same, double tolerance) {
  const AttentionRegistry registry = BuiltInScores();
  const ScoreWidths widths = {
      .heads = 2, .query = same.equal_widths ? 4 : 3, .key = 4};
  const Attention of_score = ConfigOf(same.score);
  const Attention of_formula =
      ConfigOf(absl::StrCat("formula { ", same.formula, " }"));
  ConfigProblems problems;
  registry.Validate(of_formula, widths, problems);
  ASSERT_TRUE(problems.ok()) << problems.problems()[0].message;
  ScorerUnderTest<T> expected(registry, of_score, widths);
  ScorerUnderTest<T> got(registry, of_formula, widths);
  EXPECT_EQ(got.store().num_elements(), expected.store().num_elements());
  for (const SameParameter& parameter : same.parameters) {
    const auto from = *expected.store().FindByName(parameter.of_score);
    const auto values = expected.store().value(from);
    const TestArray part = Part(
        {expected.store().info(from).shape, {values.begin(), values.end()}},
        parameter);
    const auto to =
        got.store().value(*got.store().FindByName(parameter.of_formula));
    ASSERT_EQ(to.size(), part.values.size()) << parameter.of_formula;
    std::transform(part.values.begin(), part.values.end(), to.begin(),
                   [](double x) { return static_cast<T>(x); });
  }
  Expectations expect;
  ScoringProblem problem = ScoringProblem::Random(2, 5, 7, widths);
  EXPECT_EQ(got.HasInnerForm(problem), expected.HasInnerForm(problem));
  for (const bool masked : {false, true}) {
    problem.causal = masked;
    if (masked) problem.key_lengths = {7, 4};
    problem.positions.first_query = masked ? 2 : 0;
    for (const bool fused : {false, true}) {
      const ScoringResult wanted = fused ? expected.ComputeContextOnly(problem)
                                         : expected.Compute(problem);
      const ScoringResult result =
          fused ? got.ComputeContextOnly(problem) : got.Compute(problem);
      expect.SameExceptParameterGradients(result, wanted, tolerance,
                                          same.formula);
      for (const SameParameter& parameter : same.parameters) {
        TestArray gradient = result.d_parameters.at(parameter.of_formula);
        const TestArray part =
            Part(wanted.d_parameters.at(parameter.of_score), parameter);
        // Shapes may differ, such as [heads] and [heads, 1], but the elements
        // must agree.
        if (gradient.values.size() == part.values.size()) {
          gradient.shape = part.shape;
        }
        expect.Near(gradient, part, tolerance, parameter.of_formula);
      }
    }
  }
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure;
  }
}

TEST(FormulaScoresTest, EqualTheBuiltInScores) {
  for (const SameScore& same : SameScores()) {
    SCOPED_TRACE(absl::StrCat(same.score, " and ", same.formula));
    ExpectSameScore<double>(same, same.same_bits ? 0 : 1e-10);
  }
}

TEST(FormulaScoresTest, HaveTheBitsOfTheKernelsThatTheyShare) {
  for (const SameScore& same : SameScores()) {
    if (!same.same_bits) continue;
    SCOPED_TRACE(absl::StrCat(same.score, " and ", same.formula));
    ExpectSameScore<float>(same, 0);
  }
}

// Checks that a formula whose parameters are 0 equals scaled_dot with `config`.
// Each parameter of the formula must still get a gradient.
template <typename T>
void ExpectScaledDot(const std::string& formula, const std::string& config,
                     double tolerance) {
  const AttentionRegistry registry = BuiltInScores();
  const ScoreWidths widths = {.heads = 2, .query = 4, .key = 4};
  ScorerUnderTest<T> expected(registry, ConfigOf("scaled_dot {} " + config),
                              widths);
  ScorerUnderTest<T> got(registry, ConfigOf("formula { " + formula + " }"),
                         widths);
  for (T& value : got.store().values()) value = 0;
  Expectations expect;
  ScoringProblem problem = ScoringProblem::Random(2, 5, 7, widths);
  EXPECT_TRUE(got.HasInnerForm(problem));
  for (const bool causal : {false, true}) {
    problem.causal = causal;
    problem.positions.first_query = causal ? 2 : 0;
    expect.SameExceptParameterGradients(got.Compute(problem),
                                        expected.Compute(problem), tolerance,
                                        formula + ", by rows");
    const ScoringResult result = got.ComputeContextOnly(problem);
    expect.SameExceptParameterGradients(result,
                                        expected.ComputeContextOnly(problem),
                                        tolerance, formula + ", by blocks");
    for (const auto& [name, gradient] : result.d_parameters) {
      EXPECT_THAT(gradient.values, Contains(Ne(0))) << name;
    }
  }
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure;
  }
}

TEST(FormulaScoresTest, AZeroBiasByDistanceIsTheScaledDotInBits) {
  const std::string formula =
      "score: 'q . k / sqrt(d) + b[i - j]' "
      "parameter { name: 'b' table { lowest: -2 highest: 3 } }";
  ExpectScaledDot<float>(formula, "", 0);
  ExpectScaledDot<double>(formula, "", 0);
}

TEST(FormulaScoresTest, AlibiIsAFormulaOfTheHead) {
  ExpectScaledDot<double>(
      "score: 'q . k / sqrt(d) - exp(-8 * log(2) * (head + 1) / heads) * "
      "abs(i - j)'",
      "position_encoding { alibi {} }", 1e-10);
}

// Each distance in the test has its own bucket, so a table of distances must
// give the same scores as the buckets.
TEST(FormulaScoresTest, RelativeBucketsAreATableOfDistances) {
  const AttentionRegistry registry = BuiltInScores();
  const ScoreWidths widths = {.heads = 2, .query = 4, .key = 4};
  ScorerUnderTest<double> expected(
      registry,
      ConfigOf("scaled_dot {} position_encoding { relative_buckets { "
               "buckets: 16 bidirectional: false } }"),
      widths);
  ScorerUnderTest<double> got(
      registry,
      ConfigOf("formula { score: 'q . k / sqrt(d) + b[i - j]' "
               "parameter { name: 'b' table { highest: 7 } } }"),
      widths);
  const ParameterInfo& from = expected.store().parameters()[0];
  const auto buckets =
      expected.store().value(*expected.store().FindByName(from.name));
  const auto table = got.store().value(*got.store().FindByName("b"));
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = buckets[i / 8 * 16 + i % 8];
  }
  ScoringProblem problem = ScoringProblem::Random(2, 5, 7, widths);
  problem.positions.first_query = 3;
  Expectations expect;
  for (const bool fused : {false, true}) {
    const ScoringResult wanted = fused ? expected.ComputeContextOnly(problem)
                                       : expected.Compute(problem);
    const ScoringResult result =
        fused ? got.ComputeContextOnly(problem) : got.Compute(problem);
    expect.SameExceptParameterGradients(result, wanted, 1e-10,
                                        "relative_buckets");
    TestArray of_table = wanted.d_parameters.at(from.name);
    expect.Near(result.d_parameters.at("b"), Take(of_table, 1, Range(0, 8)),
                1e-10, "gradient of the table");
  }
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure;
  }
}

std::string FindNanOrInfinity(const std::string& formula) {
  const AttentionRegistry registry = BuiltInScores();
  const ScoreWidths widths = {.heads = 1, .query = 4, .key = 4};
  ScorerUnderTest<float> scorer(
      registry, ConfigOf("formula { score: '" + formula + "' }"), widths);
  return scorer.FindNanOrInfinity(ScoringProblem::Random(1, 3, 5, widths));
}

TEST(FormulaScoresTest, AFaultIsNamedWithItsPlace) {
  const std::string log = FindNanOrInfinity("1 + log(q . k)");
  EXPECT_THAT(log, StartsWith("NaN in the value of Log"));
  EXPECT_THAT(log, HasSubstr("attention/formula[5] log(q . k)"));
  const std::string division =
      FindNanOrInfinity("q . k + 1 / (norm(q) - norm(q))");
  EXPECT_THAT(division, StartsWith("Inf in the value of Divide"));
  EXPECT_THAT(division, HasSubstr("formula[9] 1 / (norm(q) - norm(q))"));
  const std::string in_prepare = FindNanOrInfinity("sqrt(sum(k) - 9) + q . k");
  EXPECT_THAT(in_prepare, HasSubstr("at formula[1] sqrt(sum(k) - 9)"));
  EXPECT_EQ(FindNanOrInfinity("log(relu(norm(q) - 9))"), "");
  // `where` must hide faults of the branch that it does not take.
  EXPECT_EQ(FindNanOrInfinity("where(q . k < 0, 0, sqrt(q . k))"), "");
  EXPECT_THAT(FindNanOrInfinity("where(q . k < 0, sqrt(q . k), 0)"),
              HasSubstr("formula[18] sqrt(q . k)"));
}

double FirstValue(const std::string& formula, const std::string& parameter) {
  const AttentionRegistry registry = BuiltInScores();
  ParameterStore<double> store;
  registry.Create<double>(ConfigOf("formula { " + formula + " }"), store.Root(),
                          ScoreWidths{.heads = 1, .query = 4, .key = 4});
  store.Finalize(1);
  return store.value(*store.FindByName(parameter))[0];
}

std::vector<std::string> NotesOn(const std::string& fields) {
  const AttentionRegistry registry = BuiltInScores();
  const Attention config = ConfigOf(absl::StrCat("formula {", fields, "}"));
  ConfigProblems problems;
  registry.Validate(config, {.heads = 2, .query = 3, .key = 3}, problems);
  EXPECT_TRUE(problems.ok()) << fields;
  return {problems.notes().begin(), problems.notes().end()};
}

TEST(FormulaScoresTest, ParametersAreNoted) {
  EXPECT_THAT(NotesOn("score: 'q . k / sqrt(d)'"),
              ElementsAre("formula.score: parameters of the formula: none"));
  EXPECT_THAT(NotesOn("score: 'v . tanh(W q + U k)' width: 5"),
              ElementsAre("formula.score: parameters of the formula: v (10), W "
                          "(30), U (30)"));
}

TEST(FormulaScoresTest, ATableIsNotedWithItsElements) {
  EXPECT_THAT(NotesOn("score: 'q . k + b[i - j]' parameter { name: 'b' table { "
                      "lowest: -3 highest: 3 } }"),
              ElementsAre("formula.score: parameters of the formula: b (14)"));
}

std::vector<std::string> ProblemsOf(const std::string& fields) {
  const AttentionRegistry registry = BuiltInScores();
  ConfigProblems problems;
  registry.Validate(ConfigOf(absl::StrCat("formula {", fields, "}")),
                    {.heads = 2, .query = 3, .key = 3}, problems);
  std::vector<std::string> all;
  for (const auto& problem : problems.problems()) {
    all.push_back(absl::StrCat(problem.path, ": ", problem.message));
  }
  return all;
}

TEST(FormulaScoresTest, DeclarationsHaveTheirPlace) {
  EXPECT_THAT(ProblemsOf("score: 'q . k + b[i - j]'"),
              ElementsAre(StartsWith("formula.score: the range of the indices "
                                     "of 'b' is missing")));
  EXPECT_THAT(
      ProblemsOf("score: 'q . k + b * s' parameter { name: 's' scalar: true } "
                 "parameter { name: 'b' table {} }"),
      ElementsAre(StartsWith("formula.parameter[1]: 'b' has a table here")));
  EXPECT_THAT(ProblemsOf("score: 'b[i]' parameter { name: 'b' table { highest: "
                         "65537 } }"),
              ElementsAre(StartsWith("formula.parameter[0].table.highest: ")));
}

TEST(FormulaScoresTest, PossibleTyposAreNoted) {
  EXPECT_THAT(
      NotesOn("score: 'q . k / sqrt(n)'"),
      ElementsAre(
          "formula.score: 'n' is taken as a learned parameter; did you mean "
          "'i', 'j', 'd'?",
          "formula.score: parameters of the formula: n (2)"));
  EXPECT_THAT(
      NotesOn("score: 'W * q . k'"),
      ElementsAre(
          StartsWith(
              "formula.score: 'W' is taken as a learned parameter; did "),
          "formula.score: parameters of the formula: W (2)"));
  EXPECT_THAT(
      NotesOn("score: 'q . k / sqrt(qd) + tahn + min2 * i'"),
      ElementsAre(
          HasSubstr("'qd' is taken as a learned parameter; did you mean 'd', "
                    "'dq'?"),
          HasSubstr("'tahn' is taken as a learned parameter; did you mean "
                    "'tanh'?"),
          HasSubstr("'min2' is taken as a learned parameter; did you mean "
                    "'min'?"),
          HasSubstr("parameters of the formula: ")));
  EXPECT_THAT(
      NotesOn("score: 'sum(A x_k) * hed'"),
      ElementsAre(HasSubstr("'x_k' is taken as a learned parameter; did you "
                            "mean 'x_i', 'x_j'?"),
                  HasSubstr("'hed' is taken as a learned parameter; did you "
                            "mean 'head'?"),
                  HasSubstr("parameters of the formula: ")));
  // There must be no note about a typo if the parameter is declared.
  EXPECT_THAT(NotesOn("score: 'q . k / sqrt(n)' parameter { name: 'n' }"),
              ElementsAre("formula.score: parameters of the formula: n (2)"));
}

TEST(FormulaScoresTest, ParametersHaveInitialValues) {
  EXPECT_EQ(FirstValue("score: 's * q . k'", "s"), 1);
  const std::string table = "score: 'b[i]' parameter { name: 'b' table {} ";
  EXPECT_EQ(FirstValue(table + "}", "b"), 0);
  EXPECT_EQ(FirstValue(table + "initial: 2 }", "b"), 2);
  EXPECT_EQ(FirstValue("score: 'sum(W q + b)'", "b"), 0);
  EXPECT_NE(FirstValue("score: 'sum(W q + b)'", "W"), 0);
  EXPECT_NE(FirstValue("score: 'b . q + sum(b + q)'", "b"), 0);
  EXPECT_EQ(
      FirstValue("score: 's * q . k' parameter { name: 's' initial: 3 }", "s"),
      3);
}

}  // namespace
}  // namespace regard
