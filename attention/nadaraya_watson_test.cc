#include "attention/nadaraya_watson.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/nadaraya_watson.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/column_scale.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr char kGaussian[] = "kernel { shape: GAUSSIAN }";

// The known points are (0, 1), (1, 3) and (2, 8). The test points are at 0 and
// 4, where y is 1 and 5.
struct Regression {
  explicit Regression(const std::string& attention,
                      const std::string& options = "",
                      bool per_example = false) {
    RegisterBuiltInScores(scorers);
    Attention score;
    NadarayaWatson config;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(attention, &score));
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(options, &config));
    model = std::make_unique<NadarayaWatsonModel<double>>(
        scorers, score, config,
        CurveSplits{.train = {{0, 1, 2}, {1, 3, 8}}, .test = {{0, 4}, {1, 5}}},
        ModelOptions{
            .loss = {.normalizer = per_example
                                       ? LossOptions::Normalizer::kPerToken
                                       : LossOptions::Normalizer::kSum,
                     .scale = 0.5}});
    gradients = std::make_unique<GradientSlab<double>>(model->parameters());
    forward = std::make_unique<Forward<double>>(tape, model->parameters(),
                                                gradients.get());
  }

  // Returns the loss of the examples, and computes its gradients.
  double Loss(const std::vector<int64_t>& examples) {
    forward->BeginStep();
    Var<double> sum;
    const std::vector<double> denominators = {1};
    model->Loss(*forward, examples, denominators, absl::MakeSpan(&sum, 1));
    const double loss = sum.item();
    forward->Backward({sum}, {1.0});
    return loss;
  }

  AttentionRegistry scorers;
  std::unique_ptr<NadarayaWatsonModel<double>> model;
  Tape<double> tape;
  std::unique_ptr<GradientSlab<double>> gradients;
  std::unique_ptr<Forward<double>> forward;
};

TEST(NadarayaWatsonTest, PredictsTheMeanWeightedByTheKernel) {
  Regression regression(kGaussian);
  const std::vector<double> x = {0, 1};
  const std::vector<double> y =
      regression.model->Predict(*regression.forward, x);
  const std::vector<double> weights =
      regression.model->Weights(*regression.forward, x);
  // From x = 0, the known points are at distances 0, 1 and 2. From x = 1, they
  // are at distances 1, 0 and 1. The kernel is a at distance 1, and b at
  // distance 2.
  const double a = std::exp(-0.5);
  const double b = std::exp(-2.0);
  EXPECT_THAT(y,
              ElementsAre(DoubleNear((1 + 3 * a + 8 * b) / (1 + a + b), 1e-13),
                          DoubleNear((a + 3 + 8 * a) / (1 + 2 * a), 1e-13)));
  ASSERT_EQ(weights.size(), 6u);
  EXPECT_NEAR(weights[0], 1 / (1 + a + b), 1e-14);
  EXPECT_NEAR(weights[5], a / (1 + 2 * a), 1e-14);
}

TEST(NadarayaWatsonTest, AverageScoresPredictTheMean) {
  Regression regression("average {}");
  EXPECT_THAT(regression.model->Predict(*regression.forward, {0.0, 9.0}),
              Each(DoubleNear(4, 1e-14)));
}

// The model must equal a model whose points were standardized by hand.
TEST(NadarayaWatsonTest, StandardizesInDouble) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention score;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kGaussian, &score));
  const ColumnScale x_scale = {.mean = 1.7e9, .deviation = 4};
  const ColumnScale y_scale = {.mean = -3e8, .deviation = 0.5};
  const std::vector<double> x = {1.7e9, 1.7e9 + 4, 1.7e9 + 12};
  const std::vector<double> y = {-3e8, -3e8 + 1, -3e8 + 3};
  NadarayaWatsonModel<float> model(scorers, score, {},
                                   {.train = {x, y},
                                    .dev = {{1.7e9 + 6}, {-3e8 + 2}},
                                    .x_scales = {x_scale},
                                    .y_scale = y_scale},
                                   {.loss = {.scale = 2}});
  NadarayaWatsonModel<float> by_hand(
      scorers, score, {},
      {.train = {{0, 1, 3}, {0, 2, 6}}, .dev = {{1.5}, {4}}},
      {.loss = {.scale = 2}});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const std::vector<double> predicted = model.Predict(forward, {1.7e9 + 6});
  EXPECT_EQ(predicted[0], -3e8 + 0.5 * by_hand.Predict(forward, {1.5})[0]);
  EXPECT_EQ(model.Weights(forward, {1.7e9 + 6}),
            by_hand.Weights(forward, {1.5}));
  // Errors are in the squared unit of y. The weight of the loss term must
  // convert them to the unit of the standardized y.
  for (const Split split : {Split::kTrain, Split::kDev}) {
    EXPECT_NEAR(MetricsOf(model.Evaluate(forward, split)).at("mse"),
                MetricsOf(by_hand.Evaluate(forward, split)).at("mse") / 4,
                1e-7);
  }
  EXPECT_EQ(by_hand.loss_terms()[0].weight, 2);
  EXPECT_EQ(model.loss_terms()[0].weight, 2 / 0.25);
  EXPECT_EQ(model.TraceAtPoint({1.7e9 + 6}, {"a", "b", "c"}).labels.input,
            "1700000006");
}

TEST(NadarayaWatsonTest, PredictionsBeyondACompactKernelAreZero) {
  Regression regression("kernel { shape: BOXCAR width: 1.5 }");
  EXPECT_THAT(regression.model->Predict(*regression.forward, {0.0, 50.0}),
              ElementsAre(DoubleNear(2, 1e-14), 0));
}

TEST(NadarayaWatsonTest, ATrainingPointDoesNotSeeItself) {
  Regression regression("average {}");
  // Each point is predicted as the mean of the other points: 5.5, 4.5 and 2.
  EXPECT_NEAR(regression.Loss({0}), 4.5 * 4.5, 1e-13);
  EXPECT_NEAR(regression.Loss({2, 1}), 36 + 1.5 * 1.5, 1e-13);
  Regression whole("average {}", "leave_one_out: false");
  EXPECT_NEAR(whole.Loss({0}), 3 * 3, 1e-13);
}

TEST(NadarayaWatsonTest, QueriesAreIndependent) {
  for (const char* config :
       {"average {} window: 2", "average {} position_encoding { alibi {} }"}) {
    Regression regression(config, "leave_one_out: false");
    EXPECT_NEAR(
        regression.Loss({2, 0, 1}),
        regression.Loss({0}) + regression.Loss({1}) + regression.Loss({2}),
        1e-12)
        << config;
  }
}

TEST(NadarayaWatsonTest, TheLearnedWidthHasTheGradientOfTheLoss) {
  Regression regression("parametric_gaussian {}");
  auto& parameters = regression.model->parameters();
  ASSERT_EQ(parameters.num_elements(), 1);
  const auto set = [&](double w) { parameters.values()[0] = w; };
  set(0.8);
  regression.Loss({0, 1, 2});
  const double gradient = regression.gradients->values()[0];
  const double h = 1e-5;
  set(0.8 + h);
  const double above = regression.Loss({0, 1, 2});
  set(0.8 - h);
  const double below = regression.Loss({0, 1, 2});
  EXPECT_NEAR(gradient, (above - below) / (2 * h), 1e-7 * std::abs(gradient));
  EXPECT_NE(gradient, 0);
}

TEST(NadarayaWatsonTest, ReportsExamplesWorkAndDenominators) {
  Regression sums("average {}");
  Regression means("average {}", "", /*per_example=*/true);
  EXPECT_EQ(sums.model->num_examples(), 3);
  EXPECT_EQ(sums.model->CountWork({0, 2}), 2);
  EXPECT_STREQ(sums.model->loss_terms()[0].name, "mse");
  double denominator = 0;
  sums.model->Denominators({0, 2}, absl::MakeSpan(&denominator, 1));
  EXPECT_EQ(denominator, 1);
  means.model->Denominators({0, 2}, absl::MakeSpan(&denominator, 1));
  EXPECT_EQ(denominator, 2);
}

TEST(NadarayaWatsonTest, TheCallerMayFinalize) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention score;
  score.mutable_kernel();
  NadarayaWatsonModel<double> model(
      scorers, score, NadarayaWatson(),
      CurveSplits{.train = {{0, 1}, {1, 3}}, .test = {{0}, {1}}},
      ModelOptions{.loss = {}, .finalize = false});
  EXPECT_FALSE(model.parameters().finalized());
}

TEST(NadarayaWatsonTest, TrainingPointsDoNotPredictThemselvesInEvaluations) {
  Regression regression("average {}");
  const auto error = [&](Split split) {
    return MetricsOf(regression.model->Evaluate(*regression.forward, split))
        .at("mse");
  };
  EXPECT_NEAR(error(Split::kTrain), (4.5 * 4.5 + 1.5 * 1.5 + 36) / 3, 1e-13);
  EXPECT_NEAR(error(Split::kTest), (3 * 3 + 1.0) / 2, 1e-13);
  EXPECT_TRUE(
      regression.model->Evaluate(*regression.forward, Split::kDev).empty());
}

// The known points are (0, 0), (1, 0) and (0, 2). The kernel is a Gaussian of
// width 1. The squared distances from (1, 2) are 5, 4 and 1.
TEST(NadarayaWatsonTest, TakesPointsOfSeveralColumns) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention score;
  score.mutable_gaussian();
  const CurvePoints train = {{0, 0, 1, 0, 0, 2}, {1, 3, 8}, 2};
  NadarayaWatsonModel<double> model(
      scorers, score, NadarayaWatson(),
      CurveSplits{.train = train, .dev = {{1, 2}, {4}, 2}}, ModelOptions());
  Tape<double> tape;
  Forward<double> forward(tape, model.parameters(), /*gradients=*/nullptr);
  const double a = std::exp(-2.5);
  const double b = std::exp(-2.0);
  const double c = std::exp(-0.5);
  const double y = (a + 3 * b + 8 * c) / (a + b + c);
  const std::vector<double> predicted = model.Predict(forward, {1, 2, 1, 2});
  EXPECT_THAT(predicted,
              ElementsAre(DoubleNear(y, 1e-13), DoubleNear(y, 1e-13)));
  EXPECT_NEAR(model.Weights(forward, {1, 2})[2], c / (a + b + c), 1e-14);
  EXPECT_NEAR(MetricsOf(model.Evaluate(forward, Split::kDev)).at("mse"),
              (y - 4) * (y - 4), 1e-12);
  EXPECT_TRUE(model.Evaluate(forward, Split::kTest).empty());
  // Predicts each point from the two other points. The squared distances are 1,
  // 4 and 5.
  const double d = std::exp(-0.5);
  const double e = std::exp(-2.0);
  const double f = std::exp(-2.5);
  const double errors[] = {1 - (3 * d + 8 * e) / (d + e),
                           3 - (d + 8 * f) / (d + f),
                           8 - (e + 3 * f) / (e + f)};
  double sum = 0;
  for (const double error : errors) sum += error * error;
  EXPECT_NEAR(MetricsOf(model.Evaluate(forward, Split::kTrain)).at("mse"),
              sum / 3, 1e-12);
}

// The 4,000 points are at 0 .. 3,999, with alternating values 0 and 1. The
// evaluation must take less than 50 MiB. All scores would take 128 MB, and the
// mask 16 MB.
TEST(NadarayaWatsonTest, EvaluatesInBlocksOfQueries) {
  constexpr int64_t kPoints = 4000;
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention score;
  score.mutable_kernel()->set_shape(KernelScore::BOXCAR);
  score.mutable_kernel()->set_width(1.5);
  CurvePoints points;
  for (int64_t i = 0; i < kPoints; ++i) {
    points.x.push_back(static_cast<double>(i));
    points.y.push_back(static_cast<double>(i % 2));
  }
  NadarayaWatsonModel<double> model(
      scorers, score, NadarayaWatson(),
      CurveSplits{.train = points, .test = points}, ModelOptions());
  Tape<double> tape;
  Forward<double> forward(tape, model.parameters(), /*gradients=*/nullptr);
  // Each point is predicted from adjacent points, which have the other value,
  // so each squared error is 1.
  EXPECT_NEAR(MetricsOf(model.Evaluate(forward, Split::kTrain)).at("mse"), 1,
              1e-12);
  // If a point also sees itself, the prediction is the mean of three values, or
  // of two values at both ends.
  EXPECT_NEAR(MetricsOf(model.Evaluate(forward, Split::kTest)).at("mse"),
              ((kPoints - 2) * 4.0 / 9 + 2 * 0.25) / kPoints, 1e-12);
  const std::vector<double> y = model.Predict(forward, points.x);
  ASSERT_EQ(y.size(), points.x.size());
  EXPECT_NEAR(y[1], 1 / 3.0, 1e-12);
  EXPECT_NEAR(y[kPoints - 2], 2 / 3.0, 1e-12);
  EXPECT_EQ(y[kPoints - 1], 0.5);
  EXPECT_LT(tape.high_water_bytes(), size_t{50} << 20);
}

// One batch of all 4,000 points must have the same loss and gradient as small
// batches. All scores at once would take 128 MB, and their weights and
// gradients even more.
TEST(NadarayaWatsonTest, TrainsInBlocksOfQueries) {
  constexpr int64_t kPoints = 4000;
  constexpr size_t kSmall = 250;
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention score;
  score.mutable_parametric_gaussian();
  CurvePoints points;
  std::vector<int64_t> all;
  for (int64_t i = 0; i < kPoints; ++i) {
    points.x.push_back(0.01 * static_cast<double>(i));
    points.y.push_back(std::sin(points.x.back()));
    all.push_back(i);
  }
  NadarayaWatsonModel<double> model(
      scorers, score, NadarayaWatson(),
      CurveSplits{.train = points, .test = points}, ModelOptions());
  Tape<double> tape;
  GradientSlab<double> gradients(model.parameters());
  Forward<double> forward(tape, model.parameters(), &gradients);
  // The loss and its derivative with respect to the width.
  const auto differentiate = [&](absl::Span<const int64_t> examples) {
    forward.BeginStep();
    Var<double> sum;
    model.Loss(forward, examples, {1.0}, absl::MakeSpan(&sum, 1));
    const double loss = sum.item();
    forward.Backward({sum}, {1.0});
    return std::pair(loss, gradients.values()[0]);
  };
  double loss = 0;
  double gradient = 0;
  for (size_t begin = 0; begin < all.size(); begin += kSmall) {
    const auto part =
        differentiate(absl::MakeConstSpan(all).subspan(begin, kSmall));
    loss += part.first;
    gradient += part.second;
  }
  const auto whole = differentiate(all);
  EXPECT_GT(loss, 1e-3);
  EXPECT_NEAR(whole.first, loss, 1e-12 * loss);
  EXPECT_NEAR(whole.second, gradient, 1e-11 * std::abs(gradient));
  EXPECT_LT(tape.high_water_bytes(), size_t{100} << 20);
}

}  // namespace
}  // namespace regard
