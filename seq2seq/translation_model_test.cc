#include "seq2seq/translation_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/pairs/sentence_source.h"
#include "data/sentence_pair.h"
#include "data/target_lengths.h"
#include "data/text/vocabulary.h"
#include "evaluation/prediction.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;

SentencePair Pair(const char* source, const char* target) {
  return {absl::StrSplit(source, ' '), absl::StrSplit(target, ' '), {}};
}

Vocabulary Words(const std::vector<std::string>& words) {
  TokenCounts counts;
  counts.Add(words);
  return Vocabulary(counts);
}

// Returns the config of a small model without attention.
EncoderDecoderConfig SmallModel() {
  EncoderDecoderConfig config;
  config.mutable_encoder()->set_embedding(2);
  config.mutable_encoder()->set_hidden(2);
  config.mutable_decoder()->set_embedding(2);
  config.mutable_decoder()->set_hidden(2);
  config.mutable_decoder()->set_context(RecurrentDecoderConfig::NO_CONTEXT);
  return config;
}

// A model without attention whose logits are equal at all positions. The logit
// of `word` is `bias`, and all other logits are 0.
class SameEverywhere {
 public:
  SameEverywhere(const char* word, float bias, std::vector<SentencePair> dev)
      : model_(SmallModel(), AttentionRegistry(),
               {.dev = {.pairs = std::move(dev), .suffix = "_apart"},
                .source_vocabulary = Words({"a", "b"}),
                .target_vocabulary = Words({"x", "y", "z"})},
               ModelOptions()) {
    ParameterStore<float>& store = model_.parameters();
    std::fill(store.values().begin(), store.values().end(), 0.0F);
    store.value(*store.FindByName("decoder.output.bias"))
        [model_.translator().target_vocabulary().Id(word)] = bias;
  }

  EvaluatedSet EvaluateExamples() {
    Tape<float> tape;
    Forward<float> forward(tape, model_.parameters(), nullptr);
    EXPECT_TRUE(model_.Evaluate(forward, Split::kTrain).empty());
    EXPECT_TRUE(model_.Evaluate(forward, Split::kTest).empty());
    return model_.Evaluate(forward, Split::kDev).at(0);
  }

  std::map<std::string, double> Evaluate() { return EvaluateExamples().totals; }

  std::vector<int64_t> EvaluatedRows() {
    Tape<float> tape;
    Forward<float> forward(tape, model_.parameters(), nullptr);
    return RecordRowCounts(forward, "encoder/embedded",
                           [&] { model_.Evaluate(forward, Split::kDev); });
  }

 private:
  TranslationModel model_;
};

// Returns two sentences. Together, they have seven target tokens, <eos>
// included, of which two are "x".
std::vector<SentencePair> TwoSentences() {
  return {Pair("a", "x y z"), Pair("b a", "x y")};
}

TEST(TranslationModelTest, TokenAccuracyIsTheFractionOfCorrectTokens) {
  SameEverywhere model("x", 1, TwoSentences());
  EXPECT_DOUBLE_EQ(model.Evaluate()["token_accuracy_apart"], 2.0 / 7);
}

TEST(TranslationModelTest, PaddingIsNotAToken) {
  // The shorter sentence is padded by one position, which must not count.
  SameEverywhere model("<pad>", 1, TwoSentences());
  EXPECT_EQ(model.Evaluate()["token_accuracy_apart"], 0);
}

TEST(TranslationModelTest, LossIsNatsPerToken) {
  // The vocabulary has seven words, four of them reserved, all equally likely.
  SameEverywhere model("x", 0, TwoSentences());
  EXPECT_NEAR(model.Evaluate()["loss_apart"], std::log(7), 1e-6);
  EXPECT_NEAR(model.Evaluate()["perplexity_apart"], 7, 1e-5);
}

TEST(TranslationModelTest, BatchesOfAnEvaluationAreAddedUp) {
  std::vector<SentencePair> dev(100, Pair("a", "x y z"));
  dev.push_back(Pair("b", "x"));
  SameEverywhere model("x", 1, std::move(dev));
  EXPECT_DOUBLE_EQ(model.Evaluate()["token_accuracy_apart"], 101.0 / 402);
  // The first two evaluations translate. The last two compute the losses.
  EXPECT_THAT(model.EvaluatedRows(), ::testing::ElementsAre(37, 64, 64, 37));
}

TEST(TranslationModelTest, KeepsTheStatisticsOfMetrics) {
  SameEverywhere model("x", 1, TwoSentences());
  const EvaluatedSet set = model.EvaluateExamples();
  EXPECT_EQ(set.length_unit, "source tokens");
  ASSERT_EQ(set.examples.size(), 2);
  EXPECT_EQ(set.examples[1].input, "b a");
  EXPECT_EQ(set.examples[1].reference, "x y");
  EXPECT_EQ(set.examples[1].output.substr(0, 3), "x x");
  EXPECT_EQ(set.examples[1].length, 2);
  ASSERT_EQ(set.metrics.size(), 3);
  EXPECT_EQ(set.metrics[0].name, "bleu_apart");
  EXPECT_EQ(set.metrics[1].name, "chrf_apart");
  EXPECT_EQ(set.metrics[2].name, "exact_match_apart");
  const std::vector<std::string> outputs = {set.examples[0].output,
                                            set.examples[1].output};
  EXPECT_EQ(set.metrics[0].Value(),
            CorpusBleu(outputs, {{"x y z"}, {"x y"}}, BleuTokenizer::kNone));
  EXPECT_EQ(set.metrics[1].Value(), CorpusChrf(outputs, {{"x y z"}, {"x y"}}));
  EXPECT_EQ(set.metrics[2].Value(), 0);
  // bleu is one of the metrics, so it must not be one of the totals.
  EXPECT_EQ(model.Evaluate().count("bleu_apart"), 0);
}

// The model sorts the examples of a batch by length. The dropout of an example
// must not depend on its position in the batch.
TEST(TranslationModelTest, LossIsTheSumOfItsExamplesInAnyOrder) {
  EncoderDecoderConfig config;
  config.mutable_encoder()->set_embedding(2);
  config.mutable_encoder()->set_hidden(3);
  config.mutable_decoder()->set_embedding(2);
  config.mutable_decoder()->set_hidden(3);
  config.mutable_decoder()->set_embedding_dropout(0.5);
  config.mutable_decoder()->set_hidden_dropout(0.5);
  config.mutable_attention()->mutable_additive();
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  SentenceData data;
  data.source_vocabulary = Words({"a", "b"});
  data.target_vocabulary = Words({"x", "y", "z"});
  data.train.Add({"a"}, {"x", "y", "z", "x", "y"});
  data.train.Add({"b", "a", "b"}, {"z"});
  data.train.Add({"b", "b"}, {"y", "y", "z"});
  TranslationModel model(config, scorers, std::move(data), ModelOptions());
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto loss = [&](const std::vector<int64_t>& examples) {
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({.seed = 1, .step = 2, .examples = examples});
    Var<float> sum[1];
    const double denominators[] = {1};
    model.Loss(forward, examples, denominators, sum);
    return sum[0].item();
  };
  const float together = loss({1, 0, 2});
  EXPECT_EQ(loss({2, 1, 0}), together);
  EXPECT_NEAR(loss({0}) + loss({1}) + loss({2}), together, 1e-5 * together);
}

TEST(TranslationModelTest, D2lLossDividesByTheCutLength) {
  SentenceData data;
  data.cut_tokens = 10;
  data.train.Add({"a"}, {"x", "y", "z"});
  data.train.Add({"b"}, {"x"});
  TranslationModel model(SmallModel(), AttentionRegistry(), std::move(data),
                         ModelOptions());
  std::fill(model.parameters().values().begin(),
            model.parameters().values().end(), 0.0F);
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto measured = MetricsOf(model.Evaluate(forward, Split::kTrain));
  EXPECT_EQ(measured.size(), 1);
  // Each of the six tokens has loss log(7). The sentences' means over ten steps
  // are 0.4 * log(7) and 0.2 * log(7), and their sum is divided by six. The
  // mean over the twenty positions would be 0.3 * log(7).
  EXPECT_NEAR(measured.at("d2l_loss"), std::log(7) / 10, 1e-6);
}

// All splits must count, and each side must be measured separately.
TEST(TranslationModelTest, FindsTheLongestSentencesOfAllSplits) {
  const SentencePair longest_source = Pair("a b a b", "x");
  const SentencePair longest_target = Pair("a", "x y z");
  for (const Split split : {Split::kTrain, Split::kDev, Split::kTest}) {
    SentenceData data = {.source_vocabulary = Words({"a", "b"}),
                         .target_vocabulary = Words({"x", "y", "z"})};
    for (const SentencePair& pair : {Pair("a b a b", "x"), Pair("a", "x y")}) {
      if (split == Split::kTrain) {
        data.train.Add(pair.source, pair.target);
      } else if (split == Split::kDev) {
        data.dev.pairs.push_back(pair);
      } else {
        data.tests.push_back({.pairs = {pair}});
      }
    }
    const TranslationModel model(SmallModel(), AttentionRegistry(),
                                 std::move(data), ModelOptions());
    EXPECT_EQ(model.LongestSentenceLengths(), (SequenceLengths{5, 3}));
  }
}

TEST(TranslationModelTest, ReportsTruncatedPairs) {
  TranslationModel model(SmallModel(), AttentionRegistry(),
                         {.cut_tokens = 2,
                          .source_vocabulary = Words({"a", "b"}),
                          .target_vocabulary = Words({"x", "y", "z"})},
                         ModelOptions());
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  EXPECT_THAT(model.Predict(forward, {.text = "a b"})->notes,
              ::testing::IsEmpty());
  EXPECT_THAT(
      model.Predict(forward, {.text = "c c d"})->notes,
      ::testing::ElementsAre("the source is cut: only 2 of 3 tokens are read",
                             "the model does not know 'c'"));
  const auto traced =
      model.Trace(forward, {.text = "a"}, {.target = "x w w x"});
  ASSERT_TRUE(traced.ok()) << traced.status();
  EXPECT_THAT(
      traced->labels.notes,
      ::testing::ElementsAre("the target is cut: only 2 of 4 tokens are read",
                             "the model does not know 'w'"));
}

// The model always writes the same word.
TEST(TranslationModelTest, OutputsMayBeAsLongAsTargetsOfTheTraining) {
  const auto evaluate = [](std::optional<TargetLengths> lengths,
                           const char* word, int64_t* ids) {
    SentenceData data = {.lengths = lengths};
    std::vector<std::string> target(30, "x");
    data.train.Add({"a"}, target);
    data.dev.pairs = {{{"a"}, {"x"}, {}}, {{"a", "a"}, {"x"}, {}}};
    TranslationModel model(SmallModel(), AttentionRegistry(), std::move(data),
                           ModelOptions());
    ParameterStore<float>& store = model.parameters();
    std::fill(store.values().begin(), store.values().end(), 0.0F);
    store.value(*store.FindByName("decoder.output.bias"))
        [model.translator().target_vocabulary().Id(word)] = 1;
    Tape<float> tape;
    Forward<float> forward(tape, store, nullptr);
    const Prediction prediction = *model.Predict(forward, {.text = "a"});
    *ids = model.translator().MaxOutputIds({"a"}, SearchConfig());
    const bool cut =
        prediction.notes.size() == 1 &&
        prediction.notes[0] ==
            absl::StrCat("the translation stopped at its limit of ", *ids,
                         " ids; raise search.max_length for a longer one");
    const double outputs =
        model.Evaluate(forward, Split::kDev)[0].totals.at("cut_outputs");
    EXPECT_EQ(cut, outputs > 0);
    return outputs;
  };
  int64_t ids = 0;
  // The training pair has 31 target ids for 2 source ids, so the ratio is 15.5.
  // The limit is 15.5 * 2 + 1.
  EXPECT_EQ(evaluate({}, "x", &ids), 2);
  EXPECT_EQ(ids, 32);
  EXPECT_EQ(evaluate({}, "<eos>", &ids), 0);
  // Runs of earlier versions contain no lengths, so the limit is 2 * 2 + 10.
  EXPECT_EQ(evaluate(TargetLengths(), "x", &ids), 2);
  EXPECT_EQ(ids, 14);
}

TEST(TranslationModelTest, SaysHowManyPairsAreCut) {
  SentenceData data = {.cut_tokens = 3};
  data.train.Add({"a"}, {"x", "y"});
  data.train.Add({"a", "b"}, {"x", "y", "z"});
  data.train.Add({"a", "b", "a"}, {"x"});
  data.dev.pairs = {Pair("a b", "x"), Pair("a", "x y z")};
  data.tests = {{.pairs = {Pair("a b", "x y")}}};
  const TranslationModel model(SmallModel(), AttentionRegistry(),
                               std::move(data), ModelOptions());
  EXPECT_THAT(model.data().notes,
              ::testing::ElementsAre("data.pairs.cut_tokens: 3 cuts 2 of 3 "
                                     "pairs of train, 1 of 2 pairs of dev"));
}

// Returns the metrics of a model whose parameters are all 0. All words then get
// equal attention. Ties go to the first word, so every target word is linked to
// source word 0.
std::map<std::string, double> AlignedMetrics(const std::string& model_text,
                                             int64_t cut_tokens) {
  EncoderDecoderConfig config;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(model_text, &config));
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  SentencePair pair = Pair("a b", "x y z");
  pair.alignment = {{0, 0}, {1, 1}, {2, 0}};
  TranslationModel model(config, scorers,
                         {.dev = {.pairs = {pair}},
                          .cut_tokens = cut_tokens,
                          .source_vocabulary = Words({"a", "b"}),
                          .target_vocabulary = Words({"x", "y", "z"})},
                         ModelOptions());
  ParameterStore<float>& store = model.parameters();
  std::fill(store.values().begin(), store.values().end(), 0.0F);
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  return MetricsOf(model.Evaluate(forward, Split::kDev));
}

std::string Recurrent(const std::string& selection) {
  return "encoder { embedding: 2 hidden: 2 } decoder { embedding: 2 hidden: 2 "
         "} attention { dot {} " +
         selection + " }";
}

double ErrorRate(int64_t cut_tokens) {
  return AlignedMetrics(Recurrent(""), cut_tokens).at("alignment_error_rate");
}

TEST(TranslationModelTest, AlignmentErrorCountsOnlyReadWords) {
  // Two of the predicted links (0, 0), (1, 0) and (2, 0) are among the three
  // gold alignments.
  EXPECT_DOUBLE_EQ(ErrorRate(/*cut_tokens=*/0), 1 - 2 * 2.0 / 6);
  // Each side is truncated to one word without <eos>. The only predicted link
  // is right.
  EXPECT_DOUBLE_EQ(ErrorRate(/*cut_tokens=*/1), 1 - 2 * 1.0 / 4);
}

// If all dot products are zero, a selection of one block of one key selects
// source word 0.
TEST(TranslationModelTest, GoldIsSelectedIfTheSelectionHasTheSourceWord) {
  const auto selected = [](const std::string& model, int64_t cut_tokens = 0) {
    return AlignedMetrics(model, cut_tokens).at("gold_selected");
  };
  const std::string one = "selection { moba { block_size: 1 top_k: 1 } }";
  EXPECT_DOUBLE_EQ(selected(Recurrent(one)), 2.0 / 3);
  EXPECT_DOUBLE_EQ(
      selected(Recurrent("selection { moba { block_size: 1 top_k: 2 } }")), 1);
  // After the truncation, the model reads both words of only one gold
  // alignment.
  EXPECT_DOUBLE_EQ(selected(Recurrent(one), /*cut_tokens=*/1), 1);
  const std::string transformer =
      "transformer { width: 4 layers: 2 attention { heads: 2 attention { " +
      one + " } } } ";
  EXPECT_DOUBLE_EQ(selected(transformer), 2.0 / 3);
  EXPECT_DOUBLE_EQ(selected(transformer + "alignment { layer: 0 head: 1 }"),
                   2.0 / 3);
  EXPECT_DOUBLE_EQ(
      selected("transformer { width: 4 layers: 1 attention { heads: 2 "
               "attention { selection { moba { block_size: 2 top_k: 2 } } } } "
               "}"),
      1);
}

TEST(TranslationModelTest, NothingIsSelectedWithoutASelection) {
  for (const std::string& model :
       {Recurrent(""), Recurrent("selection { none {} }"),
        std::string("transformer { width: 4 layers: 2 attention { heads: 2 "
                    "attention { selection { moba {} } } } pattern {} pattern "
                    "{ cross_attention { attention { selection { none {} } } "
                    "} } }")}) {
    EXPECT_THAT(AlignedMetrics(model, /*cut_tokens=*/0),
                AllOf(Contains(Key("alignment_error_rate")),
                      Not(Contains(Key("gold_selected")))))
        << model;
  }
}

}  // namespace
}  // namespace regard
