#include "attention/formula/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// A formula of one head, with queries and keys of width 2.
class EvaluationTest : public ::testing::Test {
 protected:
  void Read(const std::string& formula) {
    FormulaGraph graph;
    const auto problem =
        CompileFormula(formula, {.query = 2, .key = 2}, {}, &graph);
    ASSERT_FALSE(problem.has_value()) << problem->message;
    scorer_ = std::make_unique<FormulaScorer<double>>(
        std::move(graph), store_.Root(), /*heads=*/1);
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

  // Of queries (1, 2) and (3, -1), keys (2, 0) and (1, 1).
  Var<double> Score() {
    forward_->BeginStep();
    queries_ = tape_.Input({1, 1, 2, 2}, {1, 2, 3, -1});
    keys_ = tape_.Input({1, 1, 2, 2}, {2, 0, 1, 1});
    ScoreInputs<double> in;
    in.positions = {.first_query = 4, .query_step = 2, .first_key = 5};
    in.queries = queries_;
    in.keys = scorer_->Prepare(
        *forward_, {.keys = keys_, .key_position = in.positions.first_key});
    return scorer_->Score(*forward_, in);
  }

  std::vector<double> Scores() {
    const Var<double> scores = Score();
    EXPECT_EQ(scores.shape(), Shape({1, 1, 2, 2}));
    return {scores.data(), scores.data() + scores.size()};
  }

  ParameterStore<double> store_;
  std::unique_ptr<FormulaScorer<double>> scorer_;
  std::unique_ptr<GradientSlab<double>> gradients_;
  Tape<double> tape_;
  std::unique_ptr<Forward<double>> forward_;
  Var<double> queries_, keys_;
};

TEST_F(EvaluationTest, PositionsAreAbsolute) {
  Read("10 * i + j");
  EXPECT_THAT(Scores(), ElementsAre(45, 46, 65, 66));
}

TEST_F(EvaluationTest, NumbersAndParametersAreScoresOfAllPairs) {
  Read("3 - s");
  EXPECT_THAT(Scores(), ElementsAre(2, 2, 2, 2));
}

TEST_F(EvaluationTest, WhatDependsOnOneSideIsRepeated) {
  Read("2 * sum(k) + min(0, 1)");
  EXPECT_THAT(Scores(), ElementsAre(4, 4, 4, 4));
}

TEST_F(EvaluationTest, MultiplesOfSquaredDistances) {
  Read("-3 * norm(q - k)^2");
  EXPECT_THAT(Scores(), ElementsAre(-15, -3, -6, -24));
}

// Of `v` of an additive score: XavierUniform(1, width).
TEST(FormulaScorerTest, AVectorBeginsAsAMapToOneNumber) {
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
  // Row by row: q = (1, 2), k = (2, 0): 2 * 10 + 2 * 0 + -1 + 1.
  EXPECT_THAT(Scores(),
              ElementsAre(20, 1 + 2 + 0 + 0, 6 + 0 - 1 - 1, 3 + 10 + 0 - 1));
}

TEST_F(EvaluationTest, AWhereFeedsTheChosenBranchAlone) {
  Read("where(q . k < 3, sum(q), 5 * sum(k))");
  // q . k is 2, 3, 6, 2.
  const Var<double> scores = Score();
  EXPECT_THAT(scores.span(), ElementsAre(3, 10, 10, 2));
  forward_->Backward({Sum(scores)}, {1.0});
  EXPECT_THAT(
      std::vector<double>(queries_.grad_data(), queries_.grad_data() + 4),
      ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(std::vector<double>(keys_.grad_data(), keys_.grad_data() + 4),
              ElementsAre(5, 5, 5, 5));
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
      "sum(max(q, k)) * norm(k)");
  const auto step = [&] { forward_->Backward({Sum(Score())}, {1.0}); };
  for (int i = 0; i < 3; ++i) step();
  const int64_t before = AllocationCount();
  step();
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
