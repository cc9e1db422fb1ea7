#include "language/masked_word_model.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/token_vocabulary.h"
#include "gtest/gtest.h"
#include "language/bert.pb.h"
#include "language/masked_text.h"
#include "language/text_model.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "options/config_problems.h"

namespace regard {
namespace {

BertConfig ConfigOf(const std::string& masked) {
  BertConfig config = Parse<BertConfig>(
      "types: 2 transformer { width: 8 layers: 1 attention { heads: 2 "
      "attention { dropout: 0 } } feed_forward { hidden: 8 } "
      "position_embedding { longest: 16 } initialization { "
      "standard_deviation: 0.3 } dropout: 0 }");
  *config.mutable_masked_words() = Parse<MaskedWordsConfig>(masked);
  return config;
}

// Returns texts that repeat the sequence a, b, c, d. The training text contains
// "rare" once.
TextSplits Text() {
  TextSplits text;
  for (int i = 0; i < 12; ++i) text.train += "a b c d a b c\n";
  text.train += "rare d\n";
  text.dev = "a b c d a b c d a b rare c\nd a b c\n";
  return text;
}

std::unique_ptr<MaskedWordModel> ModelOf(const BertConfig& config,
                                         const TextSplits& text = Text()) {
  return std::make_unique<MaskedWordModel>(
      config, BuiltInScorers(),
      WordVocabulary(text.train, TokenOptions(config.masked_words()),
                     config.masked_words().min_frequency()),
      text, ModelOptions());
}

TEST(MaskedWordModelTest, UnigramIsOfTheKnownWordsOfTraining) {
  const auto model = ModelOf(ConfigOf("block: 16 min_frequency: 2"));
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  // In the training text, a, b and c occur 24 times each, and d occurs 13
  // times. unigram_loss depends on which words are drawn, so only bounds are
  // tested.
  const double unigram =
      MetricsOf(model->Evaluate(forward, Split::kDev)).at("unigram_loss");
  EXPECT_GE(unigram, -std::log(24.0 / 85) - 1e-12);
  EXPECT_LE(unigram, -std::log(13.0 / 85) + 1e-12);
  EXPECT_TRUE(model->Evaluate(forward, Split::kTest).empty());
}

TEST(MaskedWordModelTest, EvaluationsDoNotDependOnTheConfiguredMasking) {
  std::vector<double> unigrams;
  for (const char* masked : {"block: 16", "block: 16 share: 0.5"}) {
    const auto model = ModelOf(ConfigOf(masked));
    Tape<float> tape;
    Forward<float> forward(tape, model->parameters(), nullptr);
    unigrams.push_back(
        MetricsOf(model->Evaluate(forward, Split::kDev)).at("unigram_loss"));
  }
  EXPECT_EQ(unigrams[0], unigrams[1]);
}

TEST(MaskedWordModelTest, AnExampleHasItsTokensInTheOrderOfTheText) {
  const auto model = ModelOf(ConfigOf("block: 16 share: 0.5"));
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  const EvaluatedSet set = model->Evaluate(forward, Split::kDev).at(0);
  std::vector<std::string> words =
      absl::StrSplit("a b c d a b c d a b rare c d a b c", ' ');
  for (const ExampleTexts& example : set.examples) {
    const std::vector<std::string> gold =
        absl::StrSplit(example.reference, ' ');
    ASSERT_EQ(
        gold.size(),
        std::vector<std::string>(absl::StrSplit(example.output, ' ')).size());
    // Replacing each mask with the original word must restore the text.
    auto token = gold.begin();
    const std::vector<std::string> input = absl::StrSplit(example.input, ' ');
    for (std::string word : input) {
      if (word == "[SEP]") continue;
      if (word == "[MASK]") word = *token++;
      ASSERT_FALSE(words.empty());
      EXPECT_EQ(word, words.front());
      words.erase(words.begin());
    }
    EXPECT_TRUE(token == gold.end());
  }
  EXPECT_TRUE(words.empty());
  ASSERT_EQ(set.metrics.size(), 1);
  EXPECT_EQ(set.metrics[0].name, "token_accuracy");
}

TEST(MaskedWordModelTest, AnEvaluationReads4096IdsAtOnce) {
  BertConfig config = ConfigOf("block: 17");
  config.mutable_transformer()->mutable_position_embedding()->set_longest(17);
  TextSplits text = Text();
  for (int i = 0; i < 1200; ++i) text.dev += "a b c d\n";
  const auto model = ModelOf(config, text);
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  const std::vector<int64_t> rows = RecordRowCounts(
      forward, "bert/embedded", [&] { model->Evaluate(forward, Split::kDev); });
  ASSERT_GT(rows.size(), 1u);
  EXPECT_EQ(rows[0], 240);
}

TEST(MaskedWordModelTest, LearnsFromNeighbours) {
  const auto model = ModelOf(ConfigOf("block: 16 next_sentence: true"));
  GradientSlab<float> gradients(model->parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), &gradients);
  tape.set_training(true);
  std::vector<int64_t> examples(static_cast<size_t>(model->num_examples()));
  std::iota(examples.begin(), examples.end(), 0);
  std::vector<double> denominators(model->loss_terms().size());
  ASSERT_EQ(denominators.size(), 2);
  model->Denominators(examples, absl::MakeSpan(denominators));
  EXPECT_EQ(denominators[0], static_cast<double>(model->CountWork(examples)));
  EXPECT_EQ(denominators[1], static_cast<double>(examples.size()));
  EXPECT_EQ(model->CountTermElements(0, examples), model->CountWork(examples));
  EXPECT_EQ(model->CountTermElements(1, examples), model->num_examples());
  std::vector<Var<float>> sums(2);
  double first = 0;
  double last = 0;
  for (int64_t step = 0; step < 300; ++step) {
    tape.set_random({.seed = 1, .step = step, .examples = examples});
    forward.BeginStep();
    model->Loss(forward, examples, denominators, absl::MakeSpan(sums));
    const double loss = sums[0].item() / denominators[0];
    if (step == 0) first = loss;
    last = step < 290 ? 0 : last + loss / 10;
    forward.Backward(sums, {1 / denominators[0], 1 / denominators[1]});
    for (size_t i = 0; i < gradients.values().size(); ++i) {
      model->parameters().values()[i] -= 0.3F * gradients.values()[i];
    }
  }
  EXPECT_LT(last, 0.6 * first);
}

TEST(MaskedWordModelTest, WarmStepsAllocateNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  const auto model = ModelOf(ConfigOf("block: 16 next_sentence: true"));
  GradientSlab<float> gradients(model->parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), &gradients);
  tape.set_training(true);
  const std::vector<int64_t> examples = {0, 3, 5};
  std::vector<double> denominators(2, 1.0);
  std::vector<Var<float>> sums(2);
  const auto step = [&](int64_t number) {
    tape.set_random({.seed = 1, .step = number, .examples = examples});
    forward.BeginStep();
    model->Denominators(examples, absl::MakeSpan(denominators));
    model->Loss(forward, examples, denominators, absl::MakeSpan(sums));
    forward.Backward(sums, denominators);
  };
  for (int64_t i = 0; i < 5; ++i) step(i);
  const int64_t before = AllocationCount();
  for (int64_t i = 5; i < 10; ++i) step(i);
  EXPECT_EQ(AllocationCount(), before);
}

TEST(MaskedWordModelTest, NextSentencesArePredictedByTheGreaterLogit) {
  TextSplits text = Text();
  text.dev = text.train;
  const auto model = ModelOf(ConfigOf("block: 16 next_sentence: true"), text);
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  const auto accuracy_of = [&](float follows, float apart) {
    ParameterStore<float>& store = model->parameters();
    for (float& weight :
         store.value(*store.FindByName("next_sentence.weight"))) {
      weight = 0;
    }
    const absl::Span<float> bias =
        store.value(*store.FindByName("next_sentence.bias"));
    bias[0] = follows;
    bias[1] = apart;
    return MetricsOf(model->Evaluate(forward, Split::kDev))
        .at("next_sentence_accuracy");
  };
  const double follow = accuracy_of(1, 0);
  EXPECT_GT(follow, 0);
  EXPECT_LT(follow, 1);
  EXPECT_NEAR(accuracy_of(0, 1), 1 - follow, 1e-12);
  EXPECT_EQ(accuracy_of(0, 0), follow);
}

TEST(MaskedWordModelTest, TheNextSentenceIsPredictedByALinearMap) {
  const auto model = ModelOf(ConfigOf("block: 16 next_sentence: true"));
  std::string heads;
  for (const ParameterInfo& info : model->parameters().parameters()) {
    if (!absl::StartsWith(info.name, "next_sentence.")) continue;
    absl::StrAppend(&heads, info.name, " ", info.shape.ToString(), "\n");
  }
  EXPECT_EQ(heads, "next_sentence.weight [2, 8]\nnext_sentence.bias [2]\n");
}

TEST(MaskedWordModelTest, PairsHaveLengthsAndBlocksHaveNone) {
  const auto pairs = ModelOf(ConfigOf("block: 16 next_sentence: true"));
  EXPECT_GT(pairs->Lengths(0)[0], 3);
  EXPECT_EQ(pairs->Lengths(0)[1], 0);
  const auto blocks = ModelOf(ConfigOf("block: 16"));
  EXPECT_EQ(blocks->Lengths(0), SequenceLengths());
}

TEST(MaskedWordModelTest, SaysWhatDoesNotFit) {
  const auto problem = [](const BertConfig& config, const TextSplits& text) {
    ConfigProblems problems;
    ValidateMaskedWordModel(config, BuiltInScorers(), problems);
    ModelOf(config, text)->ValidateData(problems);
    std::string lines;
    for (const ConfigProblems::Problem& found : problems.problems()) {
      lines += (lines.empty() ? "" : "\n") + found.path + ": " + found.message;
    }
    return lines;
  };
  BertConfig config = ConfigOf("block: 16");
  EXPECT_EQ(problem(config, Text()), "");
  config = ConfigOf("block: 17");
  EXPECT_EQ(problem(config, Text()),
            "masked_words.block: must be at most 16, the number of positions "
            "that the model supports");
  config = ConfigOf("block: 16 next_sentence: true");
  config.set_pooler(false);
  EXPECT_EQ(problem(config, Text()),
            "pooler: must be true with next_sentence: true");
  config.mutable_masked_words()->set_block(17);
  config.set_types(1);
  EXPECT_EQ(problem(config, Text()),
            "pooler: must be true with next_sentence: true\n"
            "types: must be at least 2 with next_sentence: true\n"
            "masked_words.block: must be at most 16, the number of positions "
            "that the model supports");
  config.mutable_masked_words()->set_block(16);
  config.set_pooler(true);
  EXPECT_EQ(problem(config, Text()),
            "types: must be at least 2 with next_sentence: true");
  EXPECT_EQ(problem(ConfigOf("block: 16"),
                    TextSplits{.train = "\n", .dev = "", .test = ""}),
            "masked_words: requires at least one known token that can be "
            "masked; the vocabulary has none");
  EXPECT_EQ(problem(ConfigOf("block: 16 min_frequency: 9"),
                    TextSplits{.train = "a b", .dev = "", .test = ""}),
            "masked_words: requires at least one known token that can be "
            "masked; the vocabulary has none");
}

TEST(MaskedWordModelTest, PredictsPairsIfItLearnsNextSentences) {
  const auto prediction_for = [](const std::string& masked, int longest,
                                 const std::string& text) {
    BertConfig config = ConfigOf(masked);
    config.mutable_transformer()->mutable_position_embedding()->set_longest(
        longest);
    const auto model = ModelOf(config);
    Tape<float> tape;
    Forward<float> forward(tape, model->parameters(), nullptr);
    const auto prediction = model->Predict(forward, {.text = text}, {});
    if (!prediction.ok()) return std::string(prediction.status().message());
    return absl::StrCat(prediction->text, absl::StrJoin(prediction->notes, ""));
  };
  const std::string pairs = "block: 16 next_sentence: true";
  const std::string said = prediction_for(pairs, 16, "a b\tc d");
  EXPECT_TRUE(said == "follows" || said == "does not follow") << said;
  const std::string filled = prediction_for(pairs, 16, "A  b\tc [MASK]");
  EXPECT_EQ(filled.find("A  b\tc "), 0);
  EXPECT_FALSE(absl::StrContains(filled, "[MASK]")) << filled;
  // The model reads [CLS] a [MASK] [SEP] [MASK] [SEP], because the first text
  // is truncated before its second mask.
  const std::string cut = prediction_for(pairs, 6, "a [MASK] b [MASK]\t[MASK]");
  EXPECT_EQ(cut.find("a "), 0);
  EXPECT_TRUE(absl::StrContains(cut, " b [MASK]\t")) << cut;
  EXPECT_FALSE(absl::StrContains(cut, "\t[MASK]")) << cut;
  EXPECT_TRUE(absl::EndsWith(cut, "is cut: only 6 of 8 tokens are read"))
      << cut;
  EXPECT_TRUE(absl::EndsWith(prediction_for("block: 16", 3, "[MASK] b"),
                             "is cut: only 3 of 4 tokens are read"));
  EXPECT_EQ(prediction_for(pairs, 16, "a\tb\tc"),
            "expected a text, or two texts separated by a tab; got 2 tabs");
  EXPECT_EQ(prediction_for(pairs, 2, "a\tb"),
            "the model reads at most 2 tokens, but an input has at least 3");
  EXPECT_EQ(prediction_for("block: 16", 1, "a [MASK]"),
            "the model reads at most 1 tokens, but an input has at least 2");
  EXPECT_EQ(
      prediction_for("block: 16", 16, "a\tb"),
      "expected a text with [MASK] among its first 16 tokens; got 'a\tb'");
}

// The trace must have attention maps but no output.
TEST(MaskedWordModelTest, ATextWithoutMaskIsTraced) {
  const auto model = ModelOf(ConfigOf("block: 16 next_sentence: true"));
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  for (const char* text : {"a b c", "a\tb"}) {
    const auto traced = model->Trace(forward, {.text = text}, {});
    ASSERT_TRUE(traced.ok());
    EXPECT_TRUE(traced->labels.outputs.empty());
    EXPECT_EQ(traced->labels.sequences[0].labels.size(), 5u);
    forward.BeginStep();
    traced->pass(forward);
  }
  EXPECT_FALSE(
      model
          ->Trace(forward, {.text = "a b c d a b c d a b c d a b c [MASK]"}, {})
          .ok());
}

TEST(MaskedWordModelTest, ATraceReportsTruncation) {
  BertConfig config = ConfigOf("block: 128");
  config.mutable_transformer()->mutable_position_embedding()->set_longest(128);
  std::string text = "[MASK]";
  while (text.size() < 6 + 2 * 98) text += " a";
  for (const int block : {16, 128}) {
    config.mutable_masked_words()->set_block(block);
    const auto model = ModelOf(config);
    Tape<float> tape;
    Forward<float> forward(tape, model->parameters(), nullptr);
    const auto traced = model->Trace(forward, {.text = text}, {});
    EXPECT_EQ(traced.ok() ? absl::StrJoin(traced->labels.notes, "")
                          : std::string(traced.status().message()),
              block == 16 ? "is cut: only 16 of 101 tokens are read"
                          : "input: requires 1 to 100 tokens, got 101");
  }
}

TEST(MaskedWordModelTest, UnknownWordsAreNotMasked) {
  TextSplits text = Text();
  EXPECT_TRUE(ModelOf(ConfigOf("block: 16"), text)->predicts_on_dev());
  text.dev = "x y z\n";
  const auto model = ModelOf(ConfigOf("block: 16"), text);
  EXPECT_FALSE(model->predicts_on_dev());
  Tape<float> tape;
  Forward<float> forward(tape, model->parameters(), nullptr);
  EXPECT_EQ(model->Predict(forward, {.example = 0}, {}).status().message(),
            "no token of this example is masked: only known tokens can be "
            "masked");
}

}  // namespace
}  // namespace regard
