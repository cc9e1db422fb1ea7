#include "vision/caption_model.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/images/canvases.h"
#include "data/images/caption_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/rows_of.h"
#include "optimization/model.h"
#include "optimization/testing/metrics_of.h"
#include "optimization/testing/warm_step.h"
#include "options/config_problems.h"
#include "vision/captioner.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

CaptionSplits Canvases(int64_t train, int64_t test = 0) {
  const DrawableObjects objects = ShapeObjects(4, /*seed=*/1);
  const std::vector<std::string> prompt = {"a", "picture", "of"};
  const KindTripleSplits triples = SplitKindTriples(8, 1);
  return {MakeCanvases(train, objects, triples.train, prompt, 1, "train"),
          {},
          MakeCanvases(test, objects, triples.test, prompt, 1, "test")};
}

CaptionModel ModelOf(CaptionSplits data, const std::string& fields = "",
                     const ModelOptions& options = {}) {
  auto config = Parse<CaptionerConfig>(
      "vision_transformer { patch: 2 transformer { width: 16 layers: 1 "
      "attention { heads: 2 } feed_forward { hidden: 16 activation: GELU } "
      "position_embedding { kind: LEARNED } } } decoder { width: 16 layers: 1 "
      "attention { heads: 2 } feed_forward { hidden: 16 activation: GELU } "
      "norm_order: POST position_embedding { kind: LEARNED longest: 32 } "
      "scale_embedding: false }");
  config.MergeFrom(Parse<CaptionerConfig>(fields));
  return CaptionModel(config, BuiltInScorers(), std::move(data), options);
}

std::map<std::string, double> Evaluated(const CaptionModel& model,
                                        Forward<float>& forward, Split split) {
  return MetricsOf(model.Evaluate(forward, split));
}

// Attention with scores that do not depend on the key is uniform.
constexpr char kUniform[] =
    "decoder { cross_attention { attention { average {} } } }";

TEST(CaptionModelTest, OverfitsAFewCanvases) {
  CaptionSplits data = Canvases(6);
  data.test = data.train;
  CaptionModel model = ModelOf(std::move(data));
  GradientSlab<float> gradients(model.parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), &gradients);
  std::vector<int64_t> examples(6);
  std::iota(examples.begin(), examples.end(), 0);
  double first = 0;
  double loss = 0;
  for (int step = 0; step < 400; ++step) {
    double denominators[1];
    Var<float> sums[1];
    model.Denominators(examples, denominators);
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({1, step, examples});
    model.Loss(forward, examples, denominators, sums);
    loss = sums[0].item() / denominators[0];
    if (step == 0) first = loss;
    const double seeds[] = {1 / denominators[0]};
    forward.Backward(sums, seeds);
    const absl::Span<float> values = model.parameters().values();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] -= 0.5F * gradients.values()[i];
    }
  }
  // The first loss is near the cross-entropy of a uniform prediction.
  EXPECT_NEAR(first, std::log(model.tokens().ids().count), 0.5);
  EXPECT_LT(loss, 0.05);
  tape.set_training(false);
  Forward<float> no_gradients(tape, model.parameters(), nullptr);
  EXPECT_TRUE(Evaluated(model, no_gradients, Split::kTrain).empty());
  EXPECT_TRUE(Evaluated(model, no_gradients, Split::kDev).empty());
  const auto measured = Evaluated(model, no_gradients, Split::kTest);
  EXPECT_EQ(measured.at("exact_match"), 1);
  EXPECT_EQ(measured.at("token_accuracy"), 1);
  const std::vector<int64_t> second = {1};
  const CaptionSet& train = model.data().train;
  EXPECT_EQ(model.tokens().Decode(
                model.GenerateCaptions(no_gradients, train, second)[0],
                {"a", "picture", "of"}),
            train.captions[1].words);
}

TEST(CaptionModelTest, AnEpochHasItsOwnVariantsOfTheImages) {
  CaptionModel model =
      ModelOf(Canvases(6),
              "vision_transformer { augmentation { shift: 3 flip: true } }");
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto loss = [&](std::optional<int64_t> epoch) {
    const int64_t examples[] = {1, 2, 4};
    Var<float> sums[1];
    if (epoch.has_value()) model.BeginEpoch(epoch);
    forward.BeginStep();
    tape.set_training(true);
    tape.set_random({1, 3, examples});
    model.Loss(forward, examples, {}, sums);
    return sums[0].item();
  };
  const float before = loss(std::nullopt);
  EXPECT_EQ(before, loss(0));
  EXPECT_NE(loss(1), loss(0));
  EXPECT_NE(loss(1), loss(2));
}

TEST(CaptionModelTest, WordsOfThePromptAreNotPredicted) {
  CaptionModel model = ModelOf(Canvases(3));
  // The caption "a circle above a star and left of a cross <eos>" has 11
  // tokens.
  EXPECT_EQ(model.CountWork({0, 2}), 22);
  EXPECT_EQ(model.prompt().size(), 3);
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  forward.BeginStep();
  Var<float> sums[1];
  const std::vector<int64_t> example = {0};
  model.Loss(forward, example, {}, sums);
  EXPECT_NEAR(sums[0].item(), 11 * std::log(model.tokens().ids().count), 4);
}

TEST(PointingTest, IsAFractionOfTheWords) {
  EXPECT_EQ(Pointing().Accuracy(), 0);
  EXPECT_EQ(Pointing().MeanMass(), 0);
  const Pointing one = {.words = 1, .correct = 1, .mass = 0.5};
  EXPECT_EQ(one.Accuracy(), 1);
  EXPECT_EQ(one.MeanMass(), 0.5);
}

TEST(CaptionModelTest, PointingOfAUniformMap) {
  CaptionModel model = ModelOf(Canvases(3, 5), kUniform);
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto measured = Evaluated(model, forward, Split::kTest);
  // There are a class token and 16 patches, four in each quadrant.
  EXPECT_NEAR(measured.at("pointing_mass"), 4.0 / 17, 1e-6);
  // All quadrants get the same attention, so no prediction is correct.
  EXPECT_EQ(measured.at("pointing_accuracy"), 0);
  EXPECT_NEAR(model.UniformMass(model.data().test), 4.0 / 17, 1e-6);
  std::vector<float> tokens(17, 0);
  // Token 0 is the class token. Token 1 + 6 is the patch at row 1, column 2, in
  // the top right quadrant.
  tokens[1 + 6] = 0.75F;
  tokens[1 + 8] = 0.25F;
  tokens[0] = 9;
  EXPECT_THAT(model.SumByQuadrant(tokens), ElementsAre(0, 0.75, 0.25, 0));
}

// The weights of CrossAttentionWeights() must give the pointing metrics of
// Evaluate().
TEST(CaptionModelTest, MapsAreTheWeightsOfEachWord) {
  CaptionModel model = ModelOf(Canvases(3, 1));
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const CaptionSet& set = model.data().test;
  const std::vector<std::string>& words = set.captions[0].words;
  const std::vector<float> looks = model.CrossAttentionWeights(
      forward, set, 0, model.tokens().Encode(words));
  ASSERT_EQ(looks.size(), words.size() * 17);
  double mass = 0;
  int correct = 0;
  for (size_t word = 0; word < words.size(); ++word) {
    const auto row = absl::MakeConstSpan(looks).subspan(word * 17, 17);
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), word < 3 ? 0 : 1,
                1e-5);
    const int32_t quadrant = set.captions[0].quadrants[word];
    if (quadrant < 0) continue;
    const std::vector<double> shares = model.SumByQuadrant(row);
    mass += shares[quadrant] / 3;
    bool most = true;
    for (int q = 0; q < 4; ++q) {
      most = most && (q == quadrant || shares[q] < shares[quadrant]);
    }
    correct += most ? 1 : 0;
  }
  const auto measured = Evaluated(model, forward, Split::kTest);
  EXPECT_NEAR(measured.at("pointing_mass"), mass, 1e-5);
  EXPECT_NEAR(measured.at("pointing_accuracy"), correct / 3.0, 1e-9);
}

// The evaluation reads the images once for losses and once for sentences.
TEST(CaptionModelTest, AnEvaluationReads64ImagesAtOnce) {
  CaptionModel model = ModelOf(Canvases(3, 65));
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  EXPECT_THAT(RecordRowCounts(forward, "vision_transformer/embedded",
                              [&] { model.Evaluate(forward, Split::kTest); }),
              ElementsAre(64, 1, 64, 1));
}

// Each sentence must be a training example, and any of the sentences must count
// as correct.
TEST(CaptionModelTest, AnImageMayHaveSeveralSentences) {
  CaptionSplits data = Canvases(3, 2);
  Tape<float> tape;
  std::vector<std::string> written;
  {
    CaptionModel model = ModelOf(data);
    Forward<float> forward(tape, model.parameters(), nullptr);
    EXPECT_EQ(MetricsOf(model.Evaluate(forward, Split::kTest))["exact_match"],
              0);
    written = model.tokens().Decode(
        model.GenerateCaptions(forward, model.data().test, {1})[0]);
  }
  Caption second = data.test.captions[1];
  second.words.resize(3);
  second.words.insert(second.words.end(), written.begin(), written.end());
  second.quadrants.assign(second.words.size(), -1);
  data.test.captions.push_back(second);
  CaptionModel model = ModelOf(data);
  Forward<float> forward(tape, model.parameters(), nullptr);
  EXPECT_EQ(MetricsOf(model.Evaluate(forward, Split::kTest))["exact_match"],
            0.5);
  data.train.captions.push_back(data.train.captions[2]);
  EXPECT_EQ(ModelOf(data).num_examples(), 4);
  EXPECT_EQ(ModelOf(data).CountWork({2, 3}), 22);
}

TEST(CaptionModelTest, WithoutCrossAttentionAllImagesHaveOneSentence) {
  CaptionModel model = ModelOf(Canvases(3, 5), "cross_attention: false");
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto measured = Evaluated(model, forward, Split::kTest);
  EXPECT_EQ(measured.count("pointing_accuracy"), 0);
  EXPECT_EQ(measured.count("exact_match"), 1);
  const std::vector<int64_t> images = {0, 3};
  const auto written =
      model.GenerateCaptions(forward, model.data().test, images);
  EXPECT_EQ(written[0], written[1]);
  // The decoder has no cross-attention, so the only sequence of the trace is
  // the sentence.
  const auto traced = model.Trace(forward, {.example = 0}, {});
  ASSERT_TRUE(traced.ok()) << traced.status();
  EXPECT_THAT(traced->labels.sequences, SizeIs(1));
  ASSERT_THAT(traced->labels.sites, SizeIs(1));
  EXPECT_EQ(traced->labels.sites[0].queries, 0);
  EXPECT_EQ(traced->labels.sites[0].keys, 0);
}

TEST(CaptionModelTest, ReportsOptionsThatDoNotFitTheData) {
  const auto problems_of = [](const std::string& fields) {
    ConfigProblems problems;
    ModelOf(Canvases(3, 2), fields).ValidateData(problems);
    std::vector<std::string> all;
    for (const auto& problem : problems.problems()) {
      all.push_back(problem.path + ": " + problem.message);
    }
    return all;
  };
  EXPECT_THAT(problems_of(""), ElementsAre());
  EXPECT_THAT(
      problems_of("prompt: \"a view of\""),
      ElementsAre("prompt: must be the words with which every sentence of the "
                  "data begins; each sentence must also have more words"));
  EXPECT_THAT(problems_of("prompt: \"\""), ElementsAre());
  EXPECT_THAT(problems_of("prompt: \"\" tokens {}"), ElementsAre());
  EXPECT_THAT(
      problems_of("prompt: \"\" tokens {} begin: \"circle\""),
      ElementsAre("begin: must not occur in the sentences of the data"));
  // The second sentence has no words after the prompt.
  CaptionSplits bare = Canvases(3);
  bare.train.captions[1].words.resize(3);
  ConfigProblems problems;
  ModelOf(std::move(bare)).ValidateData(problems);
  ASSERT_EQ(problems.problems().size(), 1);
  EXPECT_EQ(problems.problems()[0].path, "prompt");
  EXPECT_THAT(
      problems_of("decoder { cross_attention { attention { "
                  "relative_dot { max_position: 16 } } } }"),
      ElementsAre(
          "decoder: must support 17 memory positions, one for each token of "
          "an image; supports only 16"));
  EXPECT_THAT(problems_of("decoder { position_embedding { longest: 13 } }"),
              ElementsAre("decoder: must support 14 positions, for the longest "
                          "sentence in the data and <bos>; supports only 13"));
  EXPECT_THAT(problems_of("decoder { position_embedding { longest: 14 } }"),
              ElementsAre());
  EXPECT_THAT(
      problems_of("vision_transformer { patch: 8 }"),
      ElementsAre("vision_transformer.patch: makes 1 x 1 patches; both numbers "
                  "must be even, because the images have quadrants"));
  EXPECT_THAT(problems_of("vision_transformer { patch: 3 }"),
              ElementsAre(HasSubstr("vision_transformer.patch: ")));
}

// Each word is one token, except "circle" and "cross".
constexpr char kPieces[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\npicture\nof\nc\n##ircle\n##ross\nabove\n"
    "left\nand\nstar\nsquare\ntriangle\n##r\nbelow\nright\n";

CaptionModel PiecesModel(CaptionSplits data) {
  data.vocabulary = kPieces;
  return ModelOf(std::move(data), "tokens {} ids: 21");
}

TEST(CaptionModelTest, SentencesMayBeSubwords) {
  CaptionSplits data = Canvases(3, 1);
  Caption& caption = data.test.captions[0];
  caption.words = {"a", "picture", "of", "a", "circle", "above", "a", "Star"};
  caption.quadrants = {-1, -1, -1, -1, 2, -1, -1, 0};
  const CaptionModel model = PiecesModel(data);
  // There are 19 tokens. [DEC] is id 19, and id 20 has no token.
  EXPECT_EQ(model.tokens().ids().count, 21);
  EXPECT_EQ(model.captioner().decoder().head().vocabulary(), 21);
  EXPECT_EQ(model.captioner().decoder().head().special_ids().begin, 19);
  EXPECT_EQ(model.captioner().decoder().head().special_ids().end, 3);
  EXPECT_THAT(model.prompt(), ElementsAre(4, 5, 6));
  const Caption& kept = model.data().test.captions[0];
  EXPECT_THAT(model.TokenQuadrants(kept),
              ElementsAre(-1, -1, -1, -1, 2, -1, -1, -1, 0));
  EXPECT_THAT(model.WithoutPrompt(kept),
              ElementsAre("a", "circle", "above", "a", "star"));
}

// A prompt may differ from the sentences in case, but must consist of whole
// words of the sentences.
TEST(CaptionModelTest, APromptIsTheWordsOfTheData) {
  CaptionSplits data = Canvases(1);
  data.vocabulary = kPieces;
  data.train.captions[0].words = {"a", "picture", "of", "circle"};
  data.train.captions[0].quadrants.assign(4, -1);
  const std::pair<const char*, size_t> prompts[] = {
      {"a picture of", 0}, {"A Picture of", 0}, {"a picture of c ##ircle", 1}};
  for (const auto& [prompt, problems_wanted] : prompts) {
    ConfigProblems problems;
    ModelOf(data, absl::StrCat("tokens {} prompt: '", prompt, "'"))
        .ValidateData(problems);
    EXPECT_THAT(problems.problems(), SizeIs(problems_wanted)) << prompt;
  }
}

// The prompt has three tokens, which are not predicted. The other tokens and
// [SEP] are predicted.
TEST(CaptionModelTest, PiecesArePredictedOneByOne) {
  CaptionSplits data = Canvases(1);
  data.train.captions[0].words = {"a", "picture", "of", "circle", "circle"};
  data.train.captions[0].quadrants.assign(5, -1);
  CaptionModel model = PiecesModel(data);
  EXPECT_EQ(model.CountWork({0}), 5);
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  forward.BeginStep();
  Var<float> sums[1];
  model.Loss(forward, std::vector<int64_t>{0}, {}, sums);
  EXPECT_NEAR(sums[0].item(), 5 * std::log(21), 2);
}

TEST(CaptionModelTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  if (!CountsAllocations()) GTEST_SKIP();
  CaptionModel model =
      ModelOf(Canvases(6), "", {.loss = {.label_smoothing = 0.1}});
  EXPECT_EQ(CountWarmStepAllocations(model, {2, 0, 5}), 0);
}

}  // namespace
}  // namespace regard
