#include "language/text_classifier.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "evaluation/prediction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/masked_text.h"
#include "language/text_classifier.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TextClassifierConfig ConfigOf(const std::string& more = "") {
  TextClassifierConfig config = Parse<TextClassifierConfig>(
      "bert { transformer { width: 8 layers: 1 attention { heads: 2 attention "
      "{ dropout: 0 } } feed_forward { hidden: 8 } dropout: 0 "
      "initialization { standard_deviation: 0.3 } } masked_words { block: 8 } "
      "} dropout: 0");
  config.MergeFrom(Parse<TextClassifierConfig>(more));
  return config;
}

// Returns texts whose class is 1 if they contain the word "b".
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
  const std::vector<ExampleTexts> found =
      model_.Classify(forward_, {{"a a", 0}, data_.train[1]}).examples;
  EXPECT_EQ(found[0].input, "a a");
  EXPECT_EQ(found[0].output, data_.labels[0]);
  EXPECT_EQ(found[1].output, data_.labels[1]);
  EXPECT_TRUE(model_.Evaluate(forward_, Split::kTest).empty());
}

TEST_P(TextClassifierTest, APredictionIsRightIfItsNameIs) {
  LabelledSplits data = Data();
  data.labels = {"all", "all", "none"};
  TextClassifier model(config_, BuiltInScorers(),
                       WordVocabulary("a b c", TokenOptions({}), 1), data, {});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  // Classes 0 and 1 have the same name, "all". The first pass predicts class 0,
  // and the second pass predicts class 1.
  absl::Span<float> bias = model.parameters().value(
      *model.parameters().FindByName("classifier.bias"));
  bias[2] = -9;
  for (const float second : {-9.0F, 9.0F}) {
    bias[1] = second;
    const EvaluatedSet all = model.Classify(forward, {{"a b", 0}});
    EXPECT_EQ(all.metrics[0].Value(), 1);
    const std::vector<float> predicted = model.Predict(forward, {"a b", 0});
    EXPECT_NEAR(all.totals.at("loss"),
                -std::log(std::exp(double{predicted[0]}) +
                          std::exp(double{predicted[1]})),
                1e-6);
  }
}

TEST_P(TextClassifierTest, AnEvaluationReads64TextsAtOnce) {
  tape_.set_training(false);
  forward_.set_gradients(nullptr);
  const std::vector<LabelledText> texts(65, {"a b", 1});
  EXPECT_THAT(RecordRowCounts(forward_, "bert/embedded",
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

// Returns pairs whose class is 1 if both texts are equal.
LabelledSplits Pairs() {
  LabelledSplits data;
  data.labels = {"other", "same", "none"};
  constexpr const char* kTexts[] = {"a", "b", "c", "a b", "b c", "c a"};
  for (const char* first : kTexts) {
    for (const char* second : kTexts) {
      const bool same = std::string(first) == second;
      // Repeats equal pairs, so that both classes are equally frequent.
      for (int i = 0; i < (same ? 5 : 1); ++i) {
        data.train.push_back({first, same ? 1 : 0, second});
      }
    }
  }
  data.dev = {{"a", 1, "a"}, {"b c", 0, "a"}};
  return data;
}

class PairClassifierTest : public ::testing::Test {
 protected:
  explicit PairClassifierTest(const std::string& more = "")
      : model_(ConfigOf(more), BuiltInScorers(),
               WordVocabulary("a b c", TokenOptions({}), 1), Pairs(), {}),
        forward_(tape_, model_.parameters(), nullptr) {}

  absl::StatusOr<Prediction> Predict(const std::string& text) {
    return model_.Predict(forward_, {.text = text}, {});
  }
  std::string ErrorOf(const std::string& text) {
    return std::string(Predict(text).status().message());
  }

  TextClassifier model_;
  Tape<float> tape_;
  Forward<float> forward_;
};

TEST_F(PairClassifierTest, Learns) {
  GradientSlab<float> gradients(model_.parameters());
  forward_.set_gradients(&gradients);
  tape_.set_training(true);
  std::vector<int64_t> examples(static_cast<size_t>(model_.num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  double loss = 0;
  for (int64_t step = 0; step < 1500; ++step) {
    tape_.set_random({.seed = 1, .step = step, .examples = examples});
    forward_.BeginStep();
    std::vector<double> denominators(1);
    std::vector<Var<float>> sums(1);
    model_.Denominators(examples, absl::MakeSpan(denominators));
    model_.Loss(forward_, examples, denominators, absl::MakeSpan(sums));
    loss = sums[0].item() / denominators[0];
    const double seeds[] = {1 / denominators[0]};
    forward_.Backward(sums, seeds);
    for (size_t i = 0; i < gradients.values().size(); ++i) {
      model_.parameters().values()[i] -= 0.1F * gradients.values()[i];
    }
  }
  EXPECT_LT(loss, 0.1);
  forward_.set_gradients(nullptr);
  tape_.set_training(false);
  const std::vector<EvaluatedSet> sets = model_.Evaluate(forward_, Split::kDev);
  EXPECT_EQ(MetricsOf(sets).at("accuracy"), 1);
  EXPECT_EQ(sets[0].examples[1].input, "b c | a");
  EXPECT_EQ(Predict("c\tc")->text, "same");
  EXPECT_EQ(Predict("c\tb")->text, "other");
  const auto example = model_.Predict(forward_, {.example = 1}, {});
  EXPECT_EQ(example->input, "b c\ta");
  EXPECT_EQ(example->reference, "other");
}

TEST_F(PairClassifierTest, ReportsTruncation) {
  EXPECT_THAT(Predict("a b\tb c a")->notes, IsEmpty());
  EXPECT_THAT(Predict("a b\tb c a c")->notes,
              ElementsAre("is cut: only 8 of 9 tokens are read"));
  EXPECT_THAT(Predict("a b c a b c a")->notes,
              ElementsAre("is cut: only 8 of 9 tokens are read"));
  EXPECT_THAT(
      model_.Trace(forward_, {.text = "a b\tb c a c"}, {})->labels.notes,
      ElementsAre("is cut: only 8 of 9 tokens are read"));
}

TEST_F(PairClassifierTest, ThePartsOfAPairHaveTheirTypes) {
  // The two texts of the pair are equal, so they differ only in their type
  // embeddings.
  const std::vector<float> before = model_.Predict(forward_, {"a", 0, "a"});
  const absl::Span<float> types = model_.parameters().value(
      *model_.parameters().FindByName("type_embedding.weight"));
  for (int i = 0; i < 8; ++i) types[8 + i] += 1.F + static_cast<float>(i);
  EXPECT_NE(before, model_.Predict(forward_, {"a", 0, "a"}));
  const std::vector<float> single = model_.Predict(forward_, {"a a", 0});
  for (int i = 0; i < 8; ++i) types[8 + i] = 0;
  EXPECT_EQ(single, model_.Predict(forward_, {"a a", 0}));
}

TEST_F(PairClassifierTest, APairDoesNotDependOnTheBatch) {
  // The shorter pair is padded with type 0.
  const std::vector<LabelledText> texts = {
      {"a", 0, "b"}, {"a b c", 0, "b c"}, {"c b", 0, std::nullopt}};
  const EvaluatedSet together = model_.Classify(forward_, texts);
  double loss = 0;
  for (const LabelledText& text : texts) {
    loss -= model_.Predict(forward_, text)[0];
  }
  EXPECT_NEAR(together.totals.at("loss"), loss / 3, 1e-6);
}

TEST_F(PairClassifierTest, TracesBothTexts) {
  const auto traced = model_.Trace(forward_, {.text = "a b\tc"}, {});
  ASSERT_TRUE(traced.ok()) << traced.status();
  EXPECT_EQ(traced->labels.input, "a b\tc");
  EXPECT_THAT(traced->labels.sequences[0].labels,
              ElementsAre("[CLS]", "a", "b", "[SEP]", "c", "[SEP]"));
}

TEST_F(PairClassifierTest, ReportsUnreadableInputs) {
  EXPECT_EQ(ErrorOf("a\tb\tc"),
            "expected a text, or two texts separated by a tab; got 2 tabs");
  EXPECT_EQ(ErrorOf("a\t"), "");
  EXPECT_EQ(ErrorOf(""), "");
}

class OneTypeTest : public PairClassifierTest {
 protected:
  OneTypeTest() : PairClassifierTest("bert { types: 1 }") {}
};

TEST_F(OneTypeTest, ReadsNoPairs) {
  constexpr char kProblem[] =
      "pairs of texts require types: 2 or more; with types: 1, the model "
      "reads only single texts";
  ConfigProblems problems;
  model_.ValidateData(problems);
  ASSERT_EQ(problems.problems().size(), 1);
  EXPECT_EQ(problems.problems()[0].path, "bert");
  EXPECT_EQ(problems.problems()[0].message, kProblem);
  EXPECT_EQ(ErrorOf("a\tb"), kProblem);
  EXPECT_EQ(ErrorOf("a"), "");
}

class LongTextTest : public PairClassifierTest {
 protected:
  LongTextTest() : PairClassifierTest("bert { masked_words { block: 128 } }") {}
};

TEST_F(LongTextTest, IsTracedUpTo100Tokens) {
  std::string text;
  for (int i = 0; i < 98; ++i) text += "a ";
  EXPECT_TRUE(model_.Trace(forward_, {.text = text}, {}).ok());
  EXPECT_EQ(model_.Trace(forward_, {.text = text + "b"}, {}).status().message(),
            "input: requires 1 to 100 tokens, got 101");
}

class TwoPositionsTest : public PairClassifierTest {
 protected:
  TwoPositionsTest()
      : PairClassifierTest(
            "bert { transformer { position_embedding { longest: 2 } } }") {}
};

TEST_F(TwoPositionsTest, AreTooFewForAPair) {
  EXPECT_EQ(ErrorOf("a\tb"),
            "the model reads at most 2 tokens, but a pair of texts has at "
            "least 3");
  EXPECT_EQ(ErrorOf("a"), "");
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
