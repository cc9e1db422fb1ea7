#include "language/text_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/site_rows.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/arena.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/testing/byte_pairs_text.h"
#include "data/text/text_splits.h"
#include "evaluation/prediction.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/language_model.pb.h"
#include "language/prefix_matching.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "optimization/testing/warm_step.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

LanguageModelConfig ConfigOf(const std::string& text) {
  LanguageModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      // GELU is smooth, which finite differences require.
      text + " transformer { width: 8 layers: 2 attention { heads: 2 } "
             "feed_forward { activation: GELU } }",
      &config));
  return config;
}

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

TrainableLanguageModel ModelOf(const std::string& config,
                               const TextSplits& text,
                               const ModelOptions& options = {}) {
  return TrainableLanguageModel(ConfigOf(config), Scorers(), text, options);
}

// Position 2 repeats the token of position 0, and position 3 the token of
// position 1. Position 4 repeats the token of positions 0 and 2.
TEST(PrefixMatchingTest, IsTheWeightOfTokensAfterEarlierOccurrences) {
  const std::vector<int32_t> ids = {5, 6, 5, 6, 5};
  std::vector<float> weights(2 * 25, 0.0f);
  const auto at = [&](int head, int query, int key) -> float& {
    return weights[static_cast<size_t>((head * 5 + query) * 5 + key)];
  };
  at(0, 1, 0) = 1;
  at(0, 2, 1) = 0.5f;
  at(0, 2, 2) = 0.25f;
  at(0, 3, 2) = 1;
  at(1, 4, 1) = 0.25f;
  at(1, 4, 3) = 0.5f;
  std::vector<double> sums = {0, 1};
  EXPECT_EQ(AddPrefixMatching(ids, weights, absl::MakeSpan(sums)), 3);
  EXPECT_THAT(sums, ElementsAre(1.5, 1.75));
}

TEST(PrefixMatchingTest, IsReportedForLinesOnRequest) {
  // Each position attends equally to itself and to earlier positions. The
  // scores are 1/4 and 1/5 for <bos> a b a b, and 1/4 for <bos> c a c. No token
  // of <bos> a b c is repeated.
  const TextSplits text = {"a b c a b\n", "a b a b\nc a c\n", "a b c\n"};
  LanguageModelConfig config =
      ConfigOf("unit: WORDS examples: LINES block: 16 prefix_matching: true");
  config.mutable_transformer()
      ->mutable_attention()
      ->mutable_attention()
      ->mutable_average();
  TrainableLanguageModel model(config, Scorers(), text, {});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto measured = [&](Split split) {
    return model.Evaluate(forward, split)[0].totals.at("prefix_matching");
  };
  EXPECT_NEAR(measured(Split::kDev), (.25 + .2 + .25) / 3, 1e-6);
  EXPECT_EQ(measured(Split::kTest), 0);
}

void Spread(ParameterStore<float>& store) {
  const RandomStream random(5, "values");
  for (const ParameterInfo& info : store.parameters()) {
    for (int64_t i = 0; i < info.size(); ++i) {
      const auto at = static_cast<size_t>(info.offset + i);
      store.values()[at] = static_cast<float>(1.6 * random.UniformAt(at) - 0.8);
    }
  }
}

// Sets the logits of all positions to `bias`.
void SetLogits(ParameterStore<float>& store, const std::vector<double>& bias) {
  std::fill(store.values().begin(), store.values().end(), 0.0F);
  const absl::Span<float> of = store.value(*store.FindByName("output.bias"));
  ASSERT_EQ(of.size(), bias.size());
  std::transform(bias.begin(), bias.end(), of.begin(),
                 [](double logit) { return static_cast<float>(logit); });
}

std::map<std::string, double> Evaluate(TrainableLanguageModel& model,
                                       Split split = Split::kDev) {
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  return MetricsOf(model.Evaluate(forward, split));
}

TEST(TextBatchTest, EachIdPredictsTheNext) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11, 12, 13, 14};
  const TextWindow windows[] = {{0, 3}, {1, 3}};
  const DecoderBatch batch = MakeTextBatch(ids, windows, arena);
  EXPECT_EQ(batch.input.rows, 2);
  EXPECT_EQ(batch.input.time, 3);
  EXPECT_THAT(batch.input.ids, ElementsAre(10, 11, 12, 11, 12, 13));
  EXPECT_THAT(batch.target, ElementsAre(11, 12, 13, 12, 13, 14));
}

TEST(TextBatchTest, SkippedAndMissingIdsAreNotTargets) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11, 12, 13, 14};
  const TextWindow windows[] = {{0, 4, 2}, {3, 1}};
  const DecoderBatch batch = MakeTextBatch(ids, windows, arena);
  EXPECT_EQ(batch.input.time, 4);
  EXPECT_THAT(batch.input.ids, ElementsAre(10, 11, 12, 13, 13, 0, 0, 0));
  EXPECT_THAT(batch.target, ElementsAre(-1, -1, 13, 14, 14, -1, -1, -1));
}

TEST(TextBatchDeathTest, RefusesAWindowWhoseLastIdPredictsNothing) {
  Arena arena;
  const std::vector<int32_t> ids = {10, 11};
  const TextWindow windows[] = {{0, 2}};
  EXPECT_DEATH(MakeTextBatch(ids, windows, arena), "ids 0 to 2 of 2");
}

TEST(TrainableLanguageModelTest, LossOfATinyTextMatchesTheHandComputedValue) {
  // The ids are a, b, c, with probabilities 1/6, 2/6, 3/6.
  TrainableLanguageModel model = ModelOf("block: 3", {"abcabca", "cabb", ""});
  SetLogits(model.parameters(), {0, std::log(2), std::log(3)});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  forward.BeginStep();
  ASSERT_EQ(model.num_examples(), 2);
  const int64_t examples[] = {0, 1};
  Var<float> sums[1];
  double denominators[1];
  model.Denominators(examples, denominators);
  EXPECT_EQ(denominators[0], 6);
  EXPECT_EQ(model.CountWork(examples), 6);
  model.Loss(forward, examples, denominators, sums);
  // The targets are bca in both examples.
  EXPECT_NEAR(sums[0].item(), 2 * (std::log(3) + std::log(2) + std::log(6)),
              1e-5);
  // The targets are a, b and b, in two blocks. The second block has only one
  // target.
  const auto dev = Evaluate(model);
  const double loss = (std::log(6) + 2 * std::log(3)) / 3;
  EXPECT_NEAR(dev.at("loss"), loss, 1e-5);
  EXPECT_NEAR(dev.at("perplexity"), std::exp(loss), 1e-5);
  EXPECT_NEAR(dev.at("bits_per_character"), loss / std::log(2), 1e-5);
  EXPECT_EQ(dev.at("token_accuracy"), 0);
  EXPECT_TRUE(Evaluate(model, Split::kTest).empty());
}

TEST(TrainableLanguageModelTest, TheEndOfALineIsPredictedAndItsBeginningIsNot) {
  TrainableLanguageModel model =
      ModelOf("examples: LINES block: 3", {"ab\n\na\n", "b\nab", ""});
  // The ids are <bos>, <eos>, a, b.
  SetLogits(model.parameters(), {-1e30, std::log(4), std::log(3), std::log(1)});
  ASSERT_EQ(model.num_examples(), 2);
  EXPECT_EQ(model.CountWork({0}), 3);
  EXPECT_EQ(model.CountWork({1}), 2);
  EXPECT_EQ(model.Problem(), "");
  // The targets are b <eos> and a b <eos>. All probabilities are multiples of
  // 1/8.
  const auto dev = Evaluate(model);
  EXPECT_NEAR(dev.at("loss"),
              (2 * std::log(8) + std::log(8.0 / 3) + 2 * std::log(2)) / 5,
              1e-5);
  EXPECT_NEAR(dev.at("token_accuracy"), 2.0 / 5, 1e-5);
}

TEST(TrainableLanguageModelTest, WordsHaveNoBitsPerCharacter) {
  TrainableLanguageModel model =
      ModelOf("unit: WORDS block: 2", {"a b a b", "a zebra b", ""});
  SetLogits(model.parameters(), {0, 0, 0});
  const auto dev = Evaluate(model);
  EXPECT_NEAR(dev.at("loss"), std::log(3), 1e-5);
  EXPECT_EQ(dev.count("bits_per_character"), 0);
}

// "bab\u00e9" has the ids ba, b and two bytes. Only the first byte begins a
// character. The first id is not predicted.
TEST(TrainableLanguageModelTest, BitsPerCharacterCountCharactersOfSubwords) {
  TextSplits text = {"", "", "bab\u00e9", BytePairsText({{"b", "a"}})};
  TrainableLanguageModel model =
      ModelOf("unit: BYTE_PAIRS tokens { folder: 'x' } block: 8", text);
  EXPECT_EQ(model.Problem(), "");
  EXPECT_EQ(model.num_examples(), 0);
  const int64_t vocabulary = model.language_model().vocabulary().size();
  EXPECT_EQ(vocabulary, 258);
  SetLogits(model.parameters(), std::vector<double>(258, 0));
  const auto test = Evaluate(model, Split::kTest);
  EXPECT_NEAR(test.at("loss"), std::log(258), 1e-4);
  EXPECT_NEAR(test.at("bits_per_character"), 3 * std::log2(258) / 2, 1e-4);
  // The only predicted byte does not begin a character.
  text.test = "\u00e9";
  TrainableLanguageModel inner =
      ModelOf("unit: BYTE_PAIRS tokens { folder: 'x' } block: 8", text);
  EXPECT_EQ(Evaluate(inner, Split::kTest).count("bits_per_character"), 0);
  // A text without training data is a problem, unless the whole text is test
  // data.
  text.test = "";
  EXPECT_EQ(ModelOf("unit: BYTE_PAIRS tokens { folder: 'x' } block: 8", text)
                .Problem(),
            "requires 9 ids to train on; the text has 0");
}

TEST(TrainableLanguageModelTest, ATextToEvaluateMayBeBlank) {
  TrainableLanguageModel model = ModelOf("block: 3 examples: LINES",
                                         {"", "", "\n\n", "<bos>\n<eos>\na\n"});
  EXPECT_EQ(model.Problem(), "");
  EXPECT_TRUE(Evaluate(model, Split::kTest).empty());
}

TEST(TrainableLanguageModelTest, ADevSplitWithoutPredictionsIsIgnored) {
  EXPECT_FALSE(ModelOf("block: 3", {"abcabc", "a", ""}).has_dev());
  EXPECT_TRUE(ModelOf("block: 3", {"abcabc", "ab", ""}).has_dev());
  constexpr char kLines[] = "block: 3 examples: LINES";
  EXPECT_FALSE(ModelOf(kLines, {"ab\n", "\n", ""}).has_dev());
  EXPECT_TRUE(ModelOf(kLines, {"ab\n", "a", ""}).has_dev());
}

// Repeats the computation of `inspect --rows`. The attention weights of a long
// input must never be stored as a whole.
TEST(TrainableLanguageModelTest, RowsOfALongInputNeedNoMap) {
  constexpr int64_t kTime = 3000;
  TrainableLanguageModel model =
      ModelOf("block: 4096", {std::string(5000, 'a') + "b", "", ""});
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto traced = model.Trace(forward, {.text = std::string(kTime, 'a')},
                                  {.most_tokens = int64_t{1} << 20});
  ASSERT_TRUE(traced.ok()) << traced.status();
  const std::vector<SiteRowStatistics> rows =
      RecordRowStatistics(forward, /*window=*/64, [&] {
        forward.BeginStep();
        traced->pass(forward);
      });
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].site, "decoder/layers[0]/self/attention/weights");
  EXPECT_EQ(rows[0].queries, kTime);
  EXPECT_EQ(rows[0].entropy[0], 0);
  EXPECT_EQ(rows[0].top_key[0], 0);
  EXPECT_GT(rows[0].entropy[kTime - 1], 1);
  for (const double sum : rows[1].sum) EXPECT_EQ(sum, 1);
  // The bound is half the size of the attention weights of one head.
  EXPECT_LT(tape.high_water_bytes(), kTime * kTime * sizeof(float) / 2);
}

TEST(TrainableLanguageModelTest, ATraceReadsABlockAtMost) {
  const auto traced = [](const std::string& block, const std::string& dev,
                         const PredictionRequest& request,
                         const TraceOptions& options = {}) {
    TrainableLanguageModel model =
        ModelOf("block: " + block, {dev + dev + "b", dev, ""});
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    const auto trace = model.Trace(forward, request, options);
    return trace.ok() ? std::to_string(trace->labels.outputs.size())
                      : std::string(trace.status().message());
  };
  EXPECT_EQ(traced("8", "abcabcab", {.text = "abcabcab"}), "8");
  EXPECT_EQ(traced("8", "abcabcab", {.text = "abcabcabc"}),
            "input: requires 1 to 8 tokens, got 9");
  // The last id of a target is not read.
  EXPECT_EQ(traced("8", "abcabcab", {.text = "abcabcab"}, {.target = "c"}),
            "8");
  EXPECT_EQ(traced("8", "abcabcab", {.text = "abcabcab"}, {.target = "ca"}),
            "input and target: requires 1 to 8 tokens, got 9");
  const std::string dev(256, 'a');
  EXPECT_EQ(traced("256", dev, {.text = dev}),
            "input: requires 1 to 100 tokens, got 256");
  // Half of an example is traced, but at most most_tokens ids.
  EXPECT_EQ(traced("8", dev, {.example = 0}), "4");
  EXPECT_EQ(traced("256", dev, {.example = 0}), "100");
}

TEST(TrainableLanguageModelTest, AStrideOfOneMakesEveryOffsetAnExample) {
  const TextSplits text = {"abcdefgh", "", ""};
  EXPECT_EQ(ModelOf("block: 3", text).num_examples(), 2);
  EXPECT_EQ(ModelOf("block: 3 stride: 1", text).num_examples(), 5);
  EXPECT_EQ(ModelOf("block: 7 stride: 1", text).num_examples(), 1);
  EXPECT_EQ(ModelOf("block: 3 stride: 4", text).num_examples(), 2);
}

TEST(TrainableLanguageModelTest, ReportsWhyATextDoesNotFit) {
  EXPECT_EQ(ModelOf("block: 8", {"abcdefgh", "", ""}).Problem(),
            "requires 9 ids to train on; the text has 8");
  EXPECT_EQ(ModelOf("block: 8 examples: LINES", {"\n\n", "a", ""}).Problem(),
            "requires at least one line to train on; the text has none");
  EXPECT_EQ(
      ModelOf("block: 3 examples: LINES", {"ab\n", "a\nabc", ""}).Problem(),
      "must be at least 4, the length of the longest line with its <bos>");
}

// All lines except the first have `length` ids, <bos> included.
TEST(TrainableLanguageModelTest, AnEvaluationReads4096IdsAtOnce) {
  for (const int64_t length : {241, 256}) {
    const std::string line(static_cast<size_t>(length - 1), 'a');
    std::string dev = "a\n";
    for (int i = 0; i < 20; ++i) dev += line + "\n";
    TrainableLanguageModel model =
        ModelOf("examples: LINES block: 256", {"a\n", dev, ""});
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    EXPECT_THAT(RecordRowCounts(forward, "*embedded",
                                [&] { model.Evaluate(forward, Split::kDev); }),
                ElementsAre(16, 5));
  }
}

// Returns the mean loss of the text. Each id is predicted in a separate pass,
// from the ids before it in its block.
double ReferenceLoss(const TrainableLanguageModel& model, int64_t block,
                     int64_t stride) {
  Tape<float> tape;
  Forward<float> forward(tape, model.language_model().parameters(), nullptr);
  const std::vector<int32_t>& ids = model.dev().ids;
  const auto end = static_cast<int64_t>(ids.size()) - 1;
  double sum = 0;
  for (int64_t i = 0; i < end; ++i) {
    // The beginning of the first block that contains id i.
    const int64_t first =
        i < block ? 0 : (i - block + 1 + stride - 1) / stride * stride;
    forward.BeginStep();
    const TextWindow window[] = {{first, i - first + 1}};
    const DecoderBatch batch = MakeTextBatch(ids, window, tape.arena());
    const Var<float> readout = model.language_model().decoder().Run(
        forward, {.sources = 1}, batch.input.ids);
    const Var<float> logits =
        model.language_model().decoder().head().Logits(forward, readout);
    const Var<float> log_softmax = LogSoftmax(logits);
    sum -= log_softmax.data()[(i - first) * logits.cols() + ids[i + 1]];
  }
  return sum / static_cast<double>(end);
}

TEST(TrainableLanguageModelTest, AnEvaluationPredictsTheWholeSplitOnce) {
  std::string dev;
  const RandomStream random(1, "text");
  for (uint64_t i = 0; i < 53; ++i) {
    dev.push_back(static_cast<char>('a' + random.UniformIntAt(i, 5)));
  }
  for (const int stride : {0, 8, 3, 1}) {
    TrainableLanguageModel model =
        ModelOf("block: 8 evaluation_stride: " + std::to_string(stride),
                {"abcdeabcde", dev, ""});
    Spread(model.parameters());
    EXPECT_NEAR(Evaluate(model).at("loss"),
                ReferenceLoss(model, 8, stride == 0 ? 8 : stride), 1e-5)
        << "stride " << stride;
  }
}

TEST(TrainableLanguageModelTest, GradientAgreesWithDifferences) {
  for (const char* config :
       {"block: 5 stride: 1", "block: 9 examples: LINES"}) {
    TrainableLanguageModel model =
        ModelOf(config, {"ab\ncabbac\nb\nabc\n", "", ""});
    Spread(model.parameters());
    ParameterStore<float>& store = model.parameters();
    GradientSlab<float> gradients(store);
    Tape<float> tape;
    Forward<float> forward(tape, store, &gradients);
    const int64_t examples[] = {2, 0, 1};
    const double denominators[] = {1};
    Var<float> sums[1];
    const auto loss = [&] {
      forward.BeginStep();
      model.Loss(forward, examples, denominators, sums);
      return sums[0].item();
    };
    loss();
    const double seeds[] = {1};
    forward.Backward(sums, seeds);
    const std::vector<float> start(store.values().begin(),
                                   store.values().end());
    const RandomStream random(11, "direction");
    for (const ParameterInfo& info : store.parameters()) {
      double expected = 0;
      std::vector<float> direction(start.size());
      for (int64_t i = 0; i < info.size(); ++i) {
        const auto at = static_cast<size_t>(info.offset + i);
        direction[at] = static_cast<float>(2 * random.UniformAt(at) - 1);
        expected += double{direction[at]} * gradients.values()[at];
      }
      const auto loss_at = [&](float step) -> double {
        const absl::Span<float> values = store.values();
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = start[i] + step * direction[i];
        }
        return loss();
      };
      constexpr float kStep = 1e-2;
      const double difference = (8 * (loss_at(kStep) - loss_at(-kStep)) -
                                 (loss_at(2 * kStep) - loss_at(-2 * kStep))) /
                                (12 * kStep);
      loss_at(0);
      EXPECT_NEAR(difference, expected, 1e-2 * (1 + std::abs(expected)))
          << info.name << " of " << config;
    }
  }
}

TEST(TrainableLanguageModelTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  if (!CountsAllocations()) GTEST_SKIP();
  for (const char* config : {"block: 5", "block: 9 examples: LINES"}) {
    TrainableLanguageModel model =
        ModelOf(config, {"abcd\ncabbac\nb\nabc\n", "", ""});
    EXPECT_EQ(CountWarmStepAllocations(model, {2, 0}), 0) << config;
  }
}

}  // namespace
}  // namespace regard
