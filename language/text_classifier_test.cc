#include "language/text_classifier.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/token_vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/masked_text.h"
#include "language/text_classifier.pb.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/model.h"
#include "nn/parameters.h"
#include "nn/testing/metrics_of.h"
#include "nn/testing/rows_of.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TextClassifierConfig ConfigOf(const std::string& more = "") {
  TextClassifierConfig config = Parse<TextClassifierConfig>(
      "bert { transformer { width: 8 layers: 1 attention { heads: 2 attention "
      "{ dropout: 0 } } feed_forward { hidden: 8 } dropout: 0 "
      "initialization { standard_deviation: 0.3 } } masked_words { block: 8 } "
      "} dropout: 0");
  config.MergeFrom(Parse<TextClassifierConfig>(more));
  return config;
}

// Of class 1 where there is a b.
LabelledSplits Data() {
  LabelledSplits data;
  data.labels = {"without", "with"};
  for (int i = 0; i < 32; ++i) {
    std::string text;
    for (int j = 0; j < 5; ++j) text += (i >> j) % 2 == 0 ? "a " : "c ";
    if (i % 2 == 1) text[2 * (i % 5)] = 'b';
    (i % 4 < 3 ? data.train : data.dev).push_back({text, i % 2});
  }
  return data;
}

class TextClassifierTest
    : public ::testing::TestWithParam<TextClassifierConfig::Pooling> {
 protected:
  TextClassifierTest()
      : data_(Data()),
        config_(ConfigOf()),
        model_((config_.set_pooling(GetParam()), config_), BuiltInScorers(),
               WordVocabulary("a b c", TokenOptions({}), 1), data_, {}),
        gradients_(model_.parameters()),
        forward_(tape_, model_.parameters(), &gradients_) {
    tape_.set_training(true);
  }

  double Step(absl::Span<const int64_t> examples, int64_t step, float rate) {
    tape_.set_random({.seed = 1, .step = step, .examples = examples});
    forward_.BeginStep();
    model_.Denominators(examples, absl::MakeSpan(denominators_));
    model_.Loss(forward_, examples, denominators_, absl::MakeSpan(sums_));
    const double loss = sums_[0].item() / denominators_[0];
    const double seeds[] = {1 / denominators_[0]};
    forward_.Backward(sums_, seeds);
    for (size_t i = 0; i < gradients_.values().size(); ++i) {
      model_.parameters().values()[i] -= rate * gradients_.values()[i];
    }
    return loss;
  }

  const LabelledSplits data_;
  TextClassifierConfig config_;
  TextClassifier model_;
  GradientSlab<float> gradients_;
  Tape<float> tape_;
  Forward<float> forward_;
  std::vector<double> denominators_ = std::vector<double>(1);
  std::vector<Var<float>> sums_ = std::vector<Var<float>>(1);
};

TEST_P(TextClassifierTest, Learns) {
  std::vector<int64_t> examples(static_cast<size_t>(model_.num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  double loss = 0;
  for (int64_t step = 0; step < 300; ++step) loss = Step(examples, step, 0.2F);
  EXPECT_LT(loss, 0.1);
  tape_.set_training(false);
  forward_.set_gradients(nullptr);
  const auto metrics = MetricsOf(model_.Evaluate(forward_, Split::kDev));
  EXPECT_EQ(metrics.size(), 2);
  EXPECT_GE(metrics.at("accuracy"), 0.75);
  const std::vector<EvaluatedExample> found =
      model_.Classify(forward_, {{"a a", 0}, data_.train[1]}).examples;
  EXPECT_EQ(found[0].input, "a a");
  EXPECT_EQ(found[0].output, data_.labels[0]);
  EXPECT_EQ(found[1].output, data_.labels[1]);
  EXPECT_TRUE(model_.Evaluate(forward_, Split::kTest).empty());
}

TEST_P(TextClassifierTest, AnEvaluationReads64TextsAtOnce) {
  tape_.set_training(false);
  forward_.set_gradients(nullptr);
  const std::vector<LabelledText> texts(65, {"a b", 1});
  EXPECT_THAT(RowsOf(forward_, "bert/embedded",
                     [&] { model_.Classify(forward_, texts); }),
              ElementsAre(64, 1));
}

TEST_P(TextClassifierTest, WarmStepsAllocateNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  const std::vector<int64_t> examples = {0, 7, 3};
  for (int64_t step = 0; step < 5; ++step) Step(examples, step, 0);
  const int64_t before = AllocationCount();
  for (int64_t step = 5; step < 9; ++step) Step(examples, step, 0);
  EXPECT_EQ(AllocationCount(), before);
}

INSTANTIATE_TEST_SUITE_P(Poolings, TextClassifierTest,
                         ::testing::Values(TextClassifierConfig::MEAN,
                                           TextClassifierConfig::POOLER));

TEST(TextClassifierConfigTest, NamesWhatIsWrong) {
  ConfigProblems problems;
  ValidateTextClassifier(
      ConfigOf("dropout: 1 pooling: POOLER bert { pooler: false types: 0 "
               "masked_words { block: 1 } }"),
      BuiltInScorers(), problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  EXPECT_THAT(paths, ElementsAre("dropout", "bert.pooler", "bert.types",
                                 "bert.masked_words.block"));
}

TEST(TextClassifierConfigTest, ATextHasAPlaceForBothItsEnds) {
  const auto problems_of = [](const std::string& positions) {
    ConfigProblems problems;
    ValidateTextClassifier(
        ConfigOf("bert { transformer { position_embedding { " + positions +
                 " } } }"),
        BuiltInScorers(), problems);
    std::vector<std::string> paths;
    for (const auto& problem : problems.problems()) {
      paths.push_back(problem.path);
    }
    return paths;
  };
  EXPECT_THAT(problems_of("longest: 1"),
              ElementsAre("bert.transformer.position_embedding.longest"));
  EXPECT_THAT(problems_of("longest: 0"),
              ElementsAre("bert.transformer.position_embedding.longest"));
  EXPECT_THAT(problems_of("longest: 2"), ElementsAre());
  EXPECT_THAT(problems_of("kind: SINUSOIDAL longest: 1"), ElementsAre());
}

}  // namespace
}  // namespace regard
