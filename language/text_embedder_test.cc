#include "language/text_embedder.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/sentence_embedder.h"
#include "language/text_embedder.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TextEmbedderConfig ConfigOf(const std::string& more = "") {
  TextEmbedderConfig config = Parse<TextEmbedderConfig>(
      "bert { pooler: false transformer { width: 8 layers: 1 attention { "
      "heads: "
      "2 attention { dropout: 0 } } feed_forward { hidden: 8 } dropout: 0 "
      "initialization { standard_deviation: 0.3 } } }");
  config.MergeFrom(Parse<TextEmbedderConfig>(more));
  return config;
}

// Returns all pairs of the texts in a list. Pairs of neighbours and of equal
// texts have a high score, and other pairs have a low score.
ScoredPairSplits Data() {
  const std::string texts[] = {"a a a", "a b a", "b b", "b c b", "c a", "a"};
  ScoredPairSplits data;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      const double score = std::abs(i - j) < 2 ? 0.9 : 0.1;
      (j == 2 ? data.test : data.train).push_back({texts[i], texts[j], score});
    }
  }
  return data;
}

class SentenceEmbeddingModelTest : public ::testing::Test {
 protected:
  SentenceEmbeddingModelTest()
      : model_(ConfigOf(), BuiltInScorers(), WordVocabulary("a b c", {}, 1),
               Data(), {}),
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

  // Returns the embeddings that SentenceEmbedder computes.
  std::vector<float> Embedded(const std::vector<std::string>& texts) {
    SentenceEmbedder embedder(model_.bert(), model_.parameters(),
                              model_.pieces(), model_.longest(), 1);
    std::vector<float> vectors(texts.size() * 8);
    embedder.Embed(texts, absl::MakeSpan(vectors));
    return vectors;
  }
  void Infer() {
    tape_.set_training(false);
    forward_.set_gradients(nullptr);
  }

  SentenceEmbeddingModel model_;
  GradientSlab<float> gradients_;
  Tape<float> tape_;
  Forward<float> forward_;
  std::vector<double> denominators_ = std::vector<double>(1);
  std::vector<Var<float>> sums_ = std::vector<Var<float>>(1);
};

TEST_F(SentenceEmbeddingModelTest, Learns) {
  std::vector<int64_t> examples(static_cast<size_t>(model_.num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  EXPECT_EQ(model_.CountWork(examples), 17);
  const double first = Step(examples, 0, 0.1F);
  double loss = 0;
  for (int64_t step = 1; step < 300; ++step) loss = Step(examples, step, 0.1F);
  EXPECT_LT(loss, first / 4);
  Infer();
  const auto metrics = MetricsOf(model_.Evaluate(forward_, Split::kTest));
  EXPECT_THAT(metrics, SizeIs(3));
  EXPECT_GT(metrics.at("pearson"), 0.5);
  EXPECT_TRUE(model_.Evaluate(forward_, Split::kDev).empty());
  EXPECT_TRUE(model_.Evaluate(forward_, Split::kTrain).empty());
}

TEST_F(SentenceEmbeddingModelTest, TheLossIsTheSquaredErrorOfSimilarities) {
  const std::vector<ScoredPair>& pairs = model_.data().train;
  const std::vector<int64_t> examples = {7, 2};
  double expected = 0;
  for (const int64_t i : examples) {
    const ScoredPair& pair = pairs[static_cast<size_t>(i)];
    const std::vector<float> both = Embedded({pair.first, pair.second});
    const absl::Span<const float> vectors = both;
    const double error =
        Similarity(vectors.subspan(0, 8), vectors.subspan(8)) - pair.score;
    expected += error * error;
  }
  EXPECT_NEAR(Step(examples, 0, 0), expected / 2, 1e-6);
  Infer();
  const ScoredPair both[] = {pairs[7], pairs[2]};
  const EvaluatedSet set = model_.Compare(forward_, both);
  EXPECT_NEAR(set.totals.at("loss"), expected / 2, 1e-6);
  EXPECT_EQ(set.examples[0].input, pairs[7].first + " | " + pairs[7].second);
  EXPECT_EQ(set.examples[1].reference, "0.9");
  EXPECT_THAT(set.metrics, SizeIs(2));
  EXPECT_EQ(set.metrics[0].name, "spearman");
}

TEST_F(SentenceEmbeddingModelTest, AnEvaluationReads32PairsAtOnce) {
  Infer();
  const std::vector<ScoredPair> pairs(33, {"a b", "c", 0.5});
  EXPECT_THAT(RecordRowCounts(forward_, "bert/embedded",
                              [&] { model_.Compare(forward_, pairs); }),
              ElementsAre(64, 2));
}

TEST_F(SentenceEmbeddingModelTest, GradientsMatchTheLoss) {
  const std::vector<int64_t> examples = {0, 5, 9};
  const auto value = [&](size_t i, float change) {
    ParameterStore<float>& store = model_.parameters();
    const float before = store.values()[i];
    store.values()[i] += change;
    const double loss = Step(examples, 0, 0);
    store.values()[i] = before;
    return loss;
  };
  Step(examples, 0, 0);
  const std::vector<float> gradients(gradients_.values().begin(),
                                     gradients_.values().end());
  for (size_t i = 3; i < gradients.size(); i += 29) {
    const double slope = (value(i, 1e-2F) - value(i, -1e-2F)) / 2e-2;
    EXPECT_NEAR(gradients[i], slope, 2e-3) << i;
  }
}

TEST_F(SentenceEmbeddingModelTest, PredictsEmbeddingsAndSimilarities) {
  Infer();
  const std::vector<float> vectors = Embedded({"a b", "c"});
  const absl::Span<const float> both = vectors;
  const auto vector = model_.Predict(forward_, {.text = "a b"});
  ASSERT_THAT(vector, IsOk());
  EXPECT_EQ(vector->text, VectorText(both.subspan(0, 8)));
  ASSERT_THAT(vector->values, SizeIs(8));
  EXPECT_EQ(vector->values[7], vectors[7]);
  EXPECT_EQ(vector->reference, "");
  const auto similarity = model_.Predict(forward_, {.text = "a b\tc"});
  ASSERT_THAT(similarity, IsOk());
  ASSERT_THAT(similarity->values, SizeIs(1));
  EXPECT_NEAR(similarity->values[0],
              Similarity(both.subspan(0, 8), both.subspan(8)), 1e-6);
  EXPECT_EQ(similarity->text,
            VectorText({static_cast<float>(similarity->values[0])}));
  EXPECT_THAT(model_.Predict(forward_, {.text = "a\tb\tc"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("two texts separated by a tab; got 2 tabs")));
  std::string many = "a";
  while (many.size() < 2 * 255 - 1) many += " a";
  const auto cut = model_.Predict(forward_, {.text = "b\t" + many});
  ASSERT_THAT(cut, IsOk());
  EXPECT_THAT(cut->notes,
              ElementsAre("is cut: only 256 of 257 tokens are read"));
  const auto traced = model_.Trace(forward_, {.text = "b\t" + many}, {});
  ASSERT_THAT(traced, IsOk());
  EXPECT_EQ(traced->labels.notes, cut->notes);
  const auto example = model_.Predict(forward_, {.example = 1});
  ASSERT_THAT(example, IsOk());
  EXPECT_THAT(example->notes, SizeIs(0));
  EXPECT_EQ(example->input, "b c b\tb b");
  EXPECT_EQ(example->reference, "0.9");
  EXPECT_THAT(
      model_.Predict(forward_, {.example = 4}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("less than 4")));
}

// Predictions must equal the embeddings of SentenceEmbedder, or the cosine of
// two such embeddings.
TEST_F(SentenceEmbeddingModelTest, PredictionsMatchSentenceEmbedder) {
  for (const char* more : {"pooling: CLS normalize: false",
                           "pooling: MAX normalize: false", "pooling: MAX"}) {
    const SentenceEmbeddingModel model(ConfigOf(more), BuiltInScorers(),
                                       WordVocabulary("a b c", {}, 1), Data(),
                                       {});
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    SentenceEmbedder embedder(model.bert(), model.parameters(), model.pieces(),
                              model.longest(), 1, model.vectors());
    std::vector<float> both(16);
    embedder.Embed({"a b", "c"}, absl::MakeSpan(both));
    const absl::Span<const float> vectors = both;
    EXPECT_EQ(model.Predict(forward, {.text = "a b"})->text,
              VectorText(vectors.subspan(0, 8)));
    double squares[2] = {};
    for (size_t i = 0; i < 16; ++i) {
      squares[i / 8] += double{both[i]} * both[i];
    }
    EXPECT_NEAR(model.Predict(forward, {.text = "a b\tc"})->values[0],
                Similarity(vectors.subspan(0, 8), vectors.subspan(8)) /
                    std::sqrt(squares[0] * squares[1]),
                1e-6);
  }
}

TEST_F(SentenceEmbeddingModelTest, WarmStepsAllocateNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  const std::vector<int64_t> examples = {0, 7, 3};
  for (int64_t step = 0; step < 5; ++step) Step(examples, step, 0);
  const int64_t before = AllocationCount();
  for (int64_t step = 5; step < 9; ++step) Step(examples, step, 0);
  EXPECT_EQ(AllocationCount(), before);
}

TEST_F(SentenceEmbeddingModelTest, TextsAreCut) {
  EXPECT_EQ(model_.longest(), 256);
  // The text has three words, [CLS] and [SEP].
  EXPECT_EQ(model_.Lengths(5)[0], 5);
  const SentenceEmbeddingModel cut(ConfigOf("longest: 3"), BuiltInScorers(),
                                   WordVocabulary("a b c", {}, 1), Data(), {});
  EXPECT_EQ(cut.Lengths(5)[0], 3);
  const SentenceEmbeddingModel few(
      ConfigOf("bert { transformer { position_embedding { longest: 2 } } }"),
      BuiltInScorers(), WordVocabulary("a b c", {}, 1), Data(), {});
  EXPECT_EQ(few.longest(), 2);
  ConfigProblems problems;
  few.ValidateData(problems);
  EXPECT_TRUE(problems.ok());
  const SentenceEmbeddingModel none(
      ConfigOf("bert { transformer { position_embedding { longest: 1 } } }"),
      BuiltInScorers(), WordVocabulary("a b c", {}, 1), Data(), {});
  none.ValidateData(problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].message,
            "must support at least 2 positions, for [CLS] and [SEP]; supports "
            "only 1");
}

TEST(TextEmbedderConfigTest, SpecialTokensMayBeTheSame) {
  WordPieceOptions options;
  options.unknown = options.mask = "[X]";
  EXPECT_EQ(WordVocabulary("a", options, 1).ToText(),
            "[PAD]\n[X]\n[CLS]\n[SEP]\na\n");
  // A special token may also be a word of the text.
  options.padding = "b";
  EXPECT_EQ(WordVocabulary("a b", options, 1).ToText(),
            "b\n[X]\n[CLS]\n[SEP]\na\n");
}

TEST(TextEmbedderConfigTest, NamesWhatIsWrong) {
  ConfigProblems problems;
  ValidateTextEmbedder(
      ConfigOf("longest: 1 tokens { vocabulary: '' longest_word: 0 mask: "
               "'' separator: '' } bert { types: 0 masked_words {} }"),
      BuiltInScorers(), problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) paths.push_back(problem.path);
  EXPECT_THAT(paths,
              ElementsAre("longest", "tokens.longest_word", "tokens.vocabulary",
                          "tokens.separator", "tokens.mask", "bert.types"));
  EXPECT_THAT(problems.notes(),
              ElementsAre("bert.masked_words: has no effect: an embedder masks "
                          "no words; set its `tokens` and `longest` instead"));
}

}  // namespace
}  // namespace regard
