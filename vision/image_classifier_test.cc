#include "vision/image_classifier.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "data/images/image_set.h"
#include "data/images/shapes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "optimization/ranks/inference_ranks.h"
#include "optimization/ranks/ranks.h"
#include "optimization/testing/thread_ranks.h"
#include "optimization/testing/warm_step.h"
#include "vision/vision_transformer.pb.h"

namespace regard {
namespace {

ImageSplits Shapes(int64_t train, int64_t test = 0) {
  return {.train = MakeShapes(train, 8, /*seed=*/1, "train"),
          .dev = {},
          .test = MakeShapes(test, 8, /*seed=*/1, "test"),
          .classes = ShapeNames()};
}

ImageClassifier ModelOf(ImageSplits data, const std::string& fields = "",
                        const ModelOptions& options = {}) {
  return ImageClassifier(
      Parse<VisionTransformerConfig>(
          "patch: 4 transformer { width: 16 layers: 1 attention { heads: 2 } "
          "feed_forward { hidden: 16 activation: GELU } position_embedding { "
          "kind: LEARNED } } " +
          fields),
      BuiltInScorers(), std::move(data), options);
}

// Runs one step of gradient descent on all examples. Returns the loss.
double Descend(ImageClassifier& model, Forward<float>& forward,
               GradientSlab<float>& gradients, double rate) {
  std::vector<int64_t> examples(static_cast<size_t>(model.num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  double denominators[1];
  Var<float> sums[1];
  model.Denominators(examples, denominators);
  forward.BeginStep();
  forward.tape().set_training(true);
  forward.tape().set_random({1, 0, examples});
  model.Loss(forward, examples, denominators, sums);
  const double loss = sums[0].item() / denominators[0];
  const double seeds[] = {1 / denominators[0]};
  forward.Backward(sums, seeds);
  forward.tape().set_training(false);
  const absl::Span<float> values = model.parameters().values();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] -= static_cast<float>(rate) * gradients.values()[i];
  }
  return loss;
}

TEST(ImageClassifierTest, OverfitsAFewImages) {
  ImageClassifier model = ModelOf(Shapes(12, 5));
  GradientSlab<float> gradients(model.parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), &gradients);
  const double first = Descend(model, forward, gradients, 0.2);
  // The first loss is near the cross-entropy of a uniform prediction of eight
  // classes.
  EXPECT_NEAR(first, std::log(8), 0.3);
  double loss = first;
  for (int i = 0; i < 800; ++i) {
    loss = Descend(model, forward, gradients, 0.2);
  }
  EXPECT_LT(loss, 0.05);
  Forward<float> no_gradients(tape, model.parameters(), nullptr);
  const std::vector<float> predicted =
      model.Predict(no_gradients, model.data().train);
  for (int64_t i = 0; i < 12; ++i) {
    const float* const row = predicted.data() + 8 * i;
    double sum = 0;
    for (int c = 0; c < 8; ++c) sum += std::exp(row[c]);
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(std::max_element(row, row + 8) - row,
              model.data().train.labels[static_cast<size_t>(i)]);
  }
}

TEST(ImageClassifierTest, PredictsTheSameBitsOnThreads) {
  ImageClassifier model = ModelOf(Shapes(5));
  const auto predict = [&] {
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    return model.Predict(forward, model.data().train);
  };
  const std::vector<float> expected = predict();
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    const InferenceThreads scope(pool);
    EXPECT_EQ(predict(), expected) << threads << " threads";
  }
}

// Ranks must use the same batches, however many threads each rank has.
TEST(ImageClassifierTest, RanksOfOtherThreadsPredictTheSameBits) {
  ImageClassifier model = ModelOf(Shapes(5));
  std::vector<float> predicted[2];
  RunRanks(2, [&](Ranks& ranks) {
    WorkerPool pool(ranks.rank() + 1);
    const InferenceThreads threads(pool);
    const InferenceRanks share(&ranks);
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    predicted[ranks.rank()] = model.Predict(forward, model.data().train);
  });
  EXPECT_EQ(predicted[0], predicted[1]);
  EXPECT_FALSE(predicted[0].empty());
}

// The metrics of Evaluate() must equal the metrics computed from Predict().
TEST(ImageClassifierTest, MeasuresAccuracyAndLoss) {
  // An evaluation reads at most 512 tokens at once, and 102 images have 510.
  ImageClassifier model = ModelOf(Shapes(1, 105));
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  EXPECT_TRUE(model.Evaluate(forward, Split::kTrain).empty());
  EXPECT_TRUE(model.Evaluate(forward, Split::kDev).empty());
  EvaluatedSet measured;
  EXPECT_THAT(
      RecordRowCounts(
          forward, "*/embedded",
          [&] { measured = model.Evaluate(forward, Split::kTest).at(0); }),
      ::testing::ElementsAre(102, 3));
  ASSERT_EQ(measured.metrics.size(), 2);
  const std::vector<float> predicted =
      model.Predict(forward, model.data().test);
  double correct = 0;
  double loss = 0;
  for (size_t i = 0; i < 105; ++i) {
    const auto row = absl::MakeConstSpan(predicted).subspan(8 * i, 8);
    const auto label = static_cast<size_t>(model.data().test.labels[i]);
    loss -= row[label] / 105.0;
    correct += *std::max_element(row.begin(), row.end()) == row[label];
  }
  EXPECT_EQ(measured.metrics[0].name, "accuracy");
  EXPECT_DOUBLE_EQ(measured.metrics[0].Value(), correct / 105);
  EXPECT_EQ(measured.metrics[1].name, "loss");
  EXPECT_EQ(measured.examples[3].input, "image 3");
  EXPECT_EQ(measured.examples[3].reference,
            ShapeNames()[model.data().test.labels[3]]);
  EXPECT_NEAR(measured.metrics[1].Value(), loss, 1e-12);
}

// ImageNet has two classes with the name "crane". A prediction of either class
// must count as correct.
TEST(ImageClassifierTest, APredictionIsRightIfItsNameIs) {
  ImageSplits data = Shapes(1, 105);
  std::fill(data.classes.begin() + 4, data.classes.end(), "crane");
  for (int32_t& label : data.test.labels) label = std::min(label, 4);
  ImageClassifier model = ModelOf(std::move(data));
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const EvaluatedSet measured = model.Evaluate(forward, Split::kTest).at(0);
  const std::vector<float> predicted =
      model.Predict(forward, model.data().test);
  double correct = 0;
  double loss = 0;
  for (size_t i = 0; i < 105; ++i) {
    const auto row = absl::MakeConstSpan(predicted).subspan(8 * i, 8);
    const int64_t best = std::max_element(row.begin(), row.end()) - row.begin();
    const int32_t label = model.data().test.labels[i];
    correct += std::min<int64_t>(best, 4) == label;
    double share = 0;
    for (int32_t j = label; j < (label == 4 ? 8 : label + 1); ++j) {
      share += std::exp(double{row[j]});
    }
    loss -= std::log(share) / 105;
  }
  EXPECT_DOUBLE_EQ(measured.metrics[0].Value(), correct / 105);
  EXPECT_NEAR(measured.metrics[1].Value(), loss, 1e-9);
  EXPECT_EQ(
      model.names().note(),
      "4 classes are named 'crane': a prediction is correct if its name is");
}

TEST(ImageClassifierTest, TheLossDoesNotDependOnTheSplitIntoBatches) {
  ImageClassifier model =
      ModelOf(Shapes(6), "augmentation { shift: 2 flip: true }",
              {.loss = {.label_smoothing = 0.1}});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto sum = [&](std::vector<int64_t> examples) {
    Var<float> sums[1];
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({1, 3, examples});
    model.Loss(forward, examples, {}, sums);
    return sums[0].item();
  };
  EXPECT_NEAR(sum({4, 1, 3}), sum({4}) + sum({1, 3}), 1e-5);
}

TEST(ImageClassifierTest, AnEpochHasItsOwnVariantsOfTheImages) {
  ImageClassifier model =
      ModelOf(Shapes(6), "augmentation { shift: 3 flip: true }");
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto loss = [&](std::optional<int64_t> epoch, int64_t step) {
    const int64_t examples[] = {1, 2, 4};
    Var<float> sums[1];
    if (epoch.has_value()) model.BeginEpoch(epoch);
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({1, step, examples});
    model.Loss(forward, examples, {}, sums);
    return sums[0].item();
  };
  const float before = loss(std::nullopt, 3);
  EXPECT_EQ(before, loss(0, 3));
  EXPECT_EQ(loss(1, 3), loss(1, 4));
  EXPECT_NE(loss(1, 3), loss(2, 3));
  EXPECT_NE(loss(1, 3), loss(0, 3));
}

TEST(ImageClassifierTest, ALossSumIsNotDivided) {
  double denominators[1];
  ModelOf(Shapes(3)).Denominators({0, 2}, denominators);
  EXPECT_EQ(denominators[0], 2);
  ModelOf(Shapes(3), "",
          {.loss = {.normalizer = LossOptions::Normalizer::kSum}})
      .Denominators({0, 2}, denominators);
  EXPECT_EQ(denominators[0], 1);
}

TEST(ImageClassifierTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  ImageClassifier model =
      ModelOf(Shapes(6), "augmentation { shift: 2 crop: 0.8 }");
  EXPECT_EQ(CountWarmStepAllocations(model, {2, 0, 5}), 0);
}

}  // namespace
}  // namespace regard
