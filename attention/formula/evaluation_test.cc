#include "attention/formula/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/formula/compiler.h"
#include "attention/formula/node.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Evaluates a formula of queries and keys of width 2. The query inputs have
// width 3, and the key inputs have width 2.
class EvaluationTest : public ::testing::Test {
 protected:
  void Read(const std::string& formula,
            const std::vector<FormulaParameterInfo>& declared = {},
            int64_t heads = 1) {
    FormulaGraph graph;
    const auto problem = CompileFormula(formula,
                                        {.query = 2,
                                         .key = 2,
                                         .query_input = 3,
                                         .key_input = 2,
                                         .heads = heads},
                                        declared, &graph);
    ASSERT_FALSE(problem.has_value()) << problem->message;
    heads_ = heads;
    scorer_ = std::make_unique<FormulaScorer<double>>(std::move(graph),
                                                      store_.Root(), heads);
    store_.Finalize(1);
    gradients_ = std::make_unique<GradientSlab<double>>(store_);
    forward_ =
        std::make_unique<Forward<double>>(tape_, store_, gradients_.get());
  }

  void Set(const std::string& parameter, const std::vector<double>& values) {
    const auto to = store_.value(*store_.FindByName(parameter));
    ASSERT_EQ(to.size(), values.size());
    std::copy(values.begin(), values.end(), to.begin());
  }

  // Scores two queries with two keys, in all heads. The queries are (1, 2) and
  // (3, -1) at positions 4 and 6. The keys are (2, 0) and (1, 1) at positions 5
  // and 6. The query inputs are (1, 2, 3) and (4, 5, 6). The key inputs are (1,
  // -1) and (0, 2).
  Var<double> Score() {
    forward_->BeginStep();
    queries_ = Rows({1, 2, 3, -1});
    keys_ = Rows({2, 0, 1, 1});
    query_x_ = tape_.Input({1, 2, 3}, {1, 2, 3, 4, 5, 6});
    key_x_ = tape_.Input({1, 2, 2}, {1, -1, 0, 2});
    ScoreInputs<double> in;
    in.positions = {.first_query = 4, .query_step = 2, .first_key = 5};
    in.queries = queries_;
    in.x = query_x_;
    in.keys = scorer_->Prepare(
        *forward_,
        {.keys = keys_, .key_position = in.positions.first_key, .x = key_x_});
    return scorer_->Score(*forward_, in);
  }

  std::vector<double> Scores() {
    const Var<double> scores = Score();
    EXPECT_EQ(scores.shape(), Shape({1, heads_, 2, 2}));
    return {scores.data(), scores.data() + scores.size()};
  }

  static std::vector<double> GradientOf(Var<double> x) {
    return {x.grad_data(), x.grad_data() + x.size()};
  }

  std::vector<double> GradientOf(const std::string& parameter) {
    const auto d =
        store_.Segment(gradients_->values(), *store_.FindByName(parameter));
    return {d.begin(), d.end()};
  }

  ParameterStore<double> store_;
  std::unique_ptr<FormulaScorer<double>> scorer_;
  std::unique_ptr<GradientSlab<double>> gradients_;
  Tape<double> tape_;
  std::unique_ptr<Forward<double>> forward_;
  Var<double> queries_, keys_, query_x_, key_x_;

 private:
  // Returns an array [1, heads, 2, 2] with the given rows in each head.
  Var<double> Rows(std::initializer_list<double> rows) {
    double of_heads[2 * 4];
    for (int64_t i = 0; i < heads_ * 4; ++i) of_heads[i] = rows.begin()[i % 4];
    return tape_.Input({1, heads_, 2, 2},
                       absl::MakeConstSpan(of_heads, heads_ * 4));
  }

  int64_t heads_ = 1;
};

TEST_F(EvaluationTest, PositionsAreAbsolute) {
  Read("10 * i + j");
  EXPECT_THAT(Scores(), ElementsAre(45, 46, 65, 66));
}

TEST_F(EvaluationTest, NumbersAndParametersAreScoresOfAllPairs) {
  Read("3 - s");
  EXPECT_THAT(Scores(), ElementsAre(2, 2, 2, 2));
}

TEST_F(EvaluationTest, OneSidedTermsAreRepeated) {
  Read("2 * sum(k) + min(0, 1)");
  EXPECT_THAT(Scores(), ElementsAre(4, 4, 4, 4));
}

TEST_F(EvaluationTest, MultiplesOfSquaredDistances) {
  Read("-3 * norm(q - k)^2");
  EXPECT_THAT(Scores(), ElementsAre(-15, -3, -6, -24));
}

// max(q, k) . min(q, k) equals q . k, so each score is q . k + 20 |q|^2.
TEST_F(EvaluationTest, InnerProductsOfVectorsOfOneLevel) {
  Read("max(q, k) . min(q, k) + 10 * ((2 * q) . q)");
  EXPECT_THAT(Scores(), ElementsAre(102, 103, 206, 202));
}

// A vector is initialized as a linear map to one number, with XavierUniform(1,
// width). For width 2, the bound is sqrt(6 / (1 + 2)).
TEST(FormulaScorerTest, AVectorIsInitializedAsAMapToOneNumber) {
  FormulaGraph graph;
  ASSERT_FALSE(
      CompileFormula("v . q", {.query = 2, .key = 2}, {}, &graph).has_value());
  ParameterStore<double> store;
  const FormulaScorer<double> scorer(std::move(graph), store.Root(),
                                     /*heads=*/1000);
  store.Finalize(1);
  const auto values = store.value(*store.FindByName("v"));
  EXPECT_NEAR(*std::max_element(values.begin(), values.end()), std::sqrt(2),
              0.01);
}

TEST_F(EvaluationTest, VectorsOfPairs) {
  Read("sum(max(q, k) * where(q < k, 10, W k) + min(q, 1 - k))");
  Set("W", {1, 0, 0, 1});
  // For q = (1, 2) and k = (2, 0), the first score is 2 * 10 + 2 * 0 - 1 + 1.
  EXPECT_THAT(Scores(),
              ElementsAre(20, 1 + 2 + 0 + 0, 6 + 0 - 1 - 1, 3 + 10 + 0 - 1));
}

TEST_F(EvaluationTest, AWhereFeedsOnlyTheChosenBranch) {
  Read("where(q . k < 3, sum(q), 5 * sum(k))");
  // The inner products q . k of the four pairs are 2, 3, 6 and 2.
  const Var<double> scores = Score();
  EXPECT_THAT(scores.span(), ElementsAre(3, 10, 10, 2));
  forward_->Backward({Sum(scores)}, {1.0});
  EXPECT_THAT(
      std::vector<double>(queries_.grad_data(), queries_.grad_data() + 4),
      ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(std::vector<double>(keys_.grad_data(), keys_.grad_data() + 4),
              ElementsAre(5, 5, 5, 5));
}

FormulaParameterInfo Table(const std::string& name, int64_t lowest,
                           int64_t highest) {
  return {.name = name, .table = TableRange{lowest, highest}};
}

TEST_F(EvaluationTest, ATableIsReadAtTheNearestEndBeyondItsRange) {
  Read("b[i - j]", {Table("b", -1, 2)});
  EXPECT_THAT(Scores(), ElementsAre(0, 0, 0, 0));
  Set("b", {10, 20, 30, 40});
  // The distances i - j of the four pairs are -1, -2, 1 and 0.
  const Var<double> scores = Score();
  EXPECT_THAT(scores.span(), ElementsAre(10, 10, 30, 20));
  forward_->Backward({Sum(scores)}, {1.0});
  EXPECT_THAT(GradientOf("b"), ElementsAre(2, 1, 1, 0));
}

TEST_F(EvaluationTest, ATableOfOtherDistances) {
  Read("b[j - i]", {Table("b", 0, 1)});
  Set("b", {5, 7});
  EXPECT_THAT(Scores(), ElementsAre(7, 7, 5, 5));
}

TEST_F(EvaluationTest, AnIndexIsComputedByItsOperations) {
  Read("b[where(i < j, 0, abs(i - j) + 1)] + 10 * b[min(-i, j) + 6]",
       {Table("b", 0, 2)});
  Set("b", {1, 2, 3});
  // The second index, min(-i, j) + 6, is 2 for the query at position 4 and 0
  // for the query at position 6.
  EXPECT_THAT(Scores(), ElementsAre(31, 31, 13, 12));
}

TEST_F(EvaluationTest, ATableOfPositions) {
  Read("b[i] + 10 * b[j]", {Table("b", 4, 6)});
  Set("b", {1, 2, 3});
  EXPECT_THAT(Scores(), ElementsAre(21, 31, 23, 33));
}

TEST_F(EvaluationTest, EachHeadHasItsNumbers) {
  Read("s * norm(q)^2 + b[i - j] + 100 * head + heads", {Table("b", 0, 1)},
       /*heads=*/2);
  Set("s", {1, 2});
  Set("b", {0.25, 0.5, -0.25, -0.5});
  EXPECT_THAT(Scores(), ElementsAre(7.25, 7.25, 12.5, 12.25,  //
                                    111.75, 111.75, 121.5, 121.75));
}

TEST_F(EvaluationTest, ADeclaredScalarIsAddedToAllElements) {
  Read("sum(q + s)", {{.name = "s", .is_scalar = true}});
  Set("s", {2});
  EXPECT_THAT(Scores(), ElementsAre(7, 7, 6, 6));
}

TEST_F(EvaluationTest, InputsOfQueryAndKey) {
  Read("u . x_i + 10 * v . x_j");
  Set("u", {1, 2, 3});
  Set("v", {1, 1});
  const Var<double> scores = Score();
  EXPECT_THAT(scores.span(), ElementsAre(14, 34, 32, 52));
  forward_->Backward({Sum(scores)}, {1.0});
  EXPECT_THAT(GradientOf(query_x_), ElementsAre(2, 4, 6, 2, 4, 6));
  EXPECT_THAT(GradientOf(key_x_), ElementsAre(20, 20, 20, 20));
}

TEST_F(EvaluationTest, EachHeadProjectsTheInputs) {
  Read("(A x_i) . (B x_j) + sum(q)", {{.name = "A", .rows = 1}}, /*heads=*/2);
  Set("A", {1, 0, 0, 0, 0, 1});
  Set("B", {1, 0, 0, 1});
  // In head 0, A x_i is 1 and 4 for the two queries, and B x_j is 1 and 0 for
  // the two keys. In head 1, A x_i is 3 and 6, and B x_j is -1 and 2.
  EXPECT_THAT(Scores(), ElementsAre(4, 3, 6, 2, 0, 9, -4, 14));
}

TEST_F(EvaluationTest, NormsHaveNoGradientAtZero) {
  Read("norm(q - q) + norm(q - (1 + 0 * j) * q) + abs(sum(q) - sum(q))");
  const Var<double> scores = Score();
  forward_->Backward({Sum(scores)}, {1.0});
  EXPECT_THAT(
      std::vector<double>(queries_.grad_data(), queries_.grad_data() + 4),
      ElementsAre(0, 0, 0, 0));
}

TEST_F(EvaluationTest, ANormOfNaNIsNaN) {
  Read("norm(log(q - 100))");
  for (const double score : Score().span()) EXPECT_TRUE(std::isnan(score));
}

TEST_F(EvaluationTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  Read(
      "v . tanh(W q + U k + c) - softplus(b) * abs(i - j) + "
      "sum(max(q, k)) * norm(k) + t[i - j] * head + t[j] - (A x_i) . (B x_j)",
      {Table("t", -1, 1)});
  const auto step = [&] { forward_->Backward({Sum(Score())}, {1.0}); };
  for (int i = 0; i < 3; ++i) step();
  const int64_t before = AllocationCount();
  step();
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
