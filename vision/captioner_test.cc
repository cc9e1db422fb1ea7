#include "vision/captioner.h"

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"
#include "seq2seq/memory_alignment.h"
#include "vision/captioner.pb.h"

namespace regard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr int64_t kVocabulary = 9;
constexpr ImageShape kImages = {1, 4, 4};

CaptionerConfig ConfigOf(const std::string& fields = "",
                         const std::string& decoder = "") {
  return Parse<CaptionerConfig>(
      "vision_transformer { patch: 2 transformer { width: 6 layers: 1 "
      "attention { heads: 2 } feed_forward { hidden: 5 activation: GELU } } } "
      "decoder { width: 4 layers: 2 attention { heads: 2 } feed_forward { "
      "hidden: 5 activation: GELU } norm_order: POST norm { epsilon: 1e-12 } "
      "position_embedding { kind: LEARNED longest: 32 } scale_embedding: "
      "false " +
      decoder + " } " + fields);
}

constexpr char kBlip[] =
    "embedding_norm: true tied_embeddings: TARGET_OUTPUT output_transform: "
    "true";

template <typename T>
Captioner<T> Make(LayerTestHarness<T>& run, const std::string& fields = "",
                  const std::string& decoder = "") {
  return Captioner<T>(ConfigOf(fields, decoder), kImages, {kVocabulary},
                      BuiltInScorers(), run.store().Root());
}

std::vector<std::string> Problems(const CaptionerConfig& config) {
  ConfigProblems problems;
  ValidateCaptioner(config, BuiltInScorers(), problems);
  std::vector<std::string> paths;
  for (const auto& problem : problems.problems()) {
    paths.push_back(problem.path);
  }
  return paths;
}

TEST(CaptionerTest, Gradients) {
  for (const char* decoder : {"", kBlip}) {
    SCOPED_TRACE(decoder);
    LayerTestHarness<double> run;
    const Captioner<double> model = Make(run, "", decoder);
    const std::vector<int32_t> ids = {2, 5, 4, 2, 7, 8};
    CheckLayerGradients(
        run, {{2, 1, 4, 4}}, [&](Forward<double>& forward, auto inputs) {
          const Memory<double> memory = model.Encode(forward, 2, inputs[0]);
          return model.decoder().head().Logits(
              forward, model.decoder().Run(forward, memory, ids));
        });
  }
}

// Reading a prompt and then single ids must give the logits of teacher forcing.
TEST(CaptionerTest, StepsAreTheFullPass) {
  for (const char* decoder : {"", kBlip}) {
    SCOPED_TRACE(decoder);
    LayerTestHarness<double> run;
    const Captioner<double> model = Make(run, "", decoder);
    const std::vector<int32_t> ids = {2, 5, 4, 7, 8, 6};
    // Returns the logits when the ids are read in `parts`, one after another.
    const auto read = [&](const std::vector<size_t>& parts) {
      Forward<double>& forward = run.Begin();
      DecoderState<double> state = model.decoder().Begin(
          forward, model.Encode(forward, 1, run.Input({1, 1, 4, 4})));
      std::vector<double> logits;
      size_t first = 0;
      for (const size_t count : parts) {
        const Var<double> of_part = model.decoder().head().Logits(
            forward,
            model.decoder().Advance(
                forward, absl::MakeConstSpan(ids).subspan(first, count), {},
                &state));
        logits.insert(logits.end(), of_part.span().begin(),
                      of_part.span().end());
        first += count;
      }
      return logits;
    };
    const std::vector<double> full = read({6});
    const std::vector<double> steps = read({3, 1, 1, 1});
    ASSERT_EQ(steps.size(), full.size());
    for (size_t i = 0; i < full.size(); ++i) {
      EXPECT_NEAR(steps[i], full[i], 1e-12) << i;
    }
  }
}

TEST(CaptionerTest, MapsAreOfTheChosenLayer) {
  for (const int64_t layer : {0, 1}) {
    LayerTestHarness<float> run;
    const Captioner<float> model =
        Make(run, "map_layer: " + std::to_string(layer));
    Forward<float>& forward = run.Begin();
    const std::vector<int32_t> ids = {2, 5, 4, 2, 7, 8};
    DecoderState<float> state = model.decoder().Begin(
        forward, model.Encode(forward, 2, run.Input({2, 1, 4, 4})));
    const std::vector<AttentionMap<float>> maps = RecordAttentionMaps(
        forward, {kDecoderMaps},
        [&] { model.decoder().Advance(forward, ids, {}, &state); });
    const AttentionMap<float> map =
        MemoryAlignment<float>(maps, model.decoder().alignment());
    // The map has two images, three positions, and five tokens: a class token
    // and four patches.
    ASSERT_EQ(map.shape, Shape({2, 1, 3, 5}));
    const AttentionMap<float>& all = maps[2 * layer + 1];
    ASSERT_EQ(all.shape, Shape({2, 2, 3, 5}));
    for (int64_t i = 0; i < 15; ++i) {
      EXPECT_FLOAT_EQ(map.weights[i],
                      (all.weights[i] + all.weights[15 + i]) / 2);
    }
  }
}

// A beam search must find sentences that are at least as likely as the results
// of greedy search.
TEST(CaptionerTest, CanBeSearchedLikeAnyDecoder) {
  LayerTestHarness<float> run;
  const Captioner<float> model = Make(run);
  run.Begin();
  Tape<float> tape;
  Forward<float> no_gradients(tape, run.store(), nullptr);
  const std::vector<float> pixels = RandomValues<float>(32, 1);
  const EnsembleMember member = {
      &model.decoder(), &no_gradients, [&](Forward<float>& of_member) {
        return model.Encode(of_member, 2,
                            of_member.tape().Constant({2, 1, 4, 4}, pixels));
      }};
  const int32_t prompt[] = {2, 5, 4};
  const SourceSearchInputs sources[] = {{12, 0, prompt}, {12, 1, prompt}};
  const auto best = [&](int beam) {
    SearchConfig config;
    config.set_beam(beam);
    config.set_length_penalty(0);
    std::vector<double> scores;
    for (const auto& found :
         Search({.members = {&member, 1}, .sources = sources}, config)) {
      EXPECT_EQ(found[0].weights.size(),
                static_cast<size_t>(found[0].num_choices() * 5));
      scores.push_back(found[0].log_probability);
    }
    return scores;
  };
  const std::vector<double> greedy = best(1);
  const std::vector<double> beam = best(8);
  for (size_t i = 0; i < 2; ++i) EXPECT_GE(beam[i], greedy[i] - 1e-6);
}

TEST(CaptionerTest, WithoutCrossAttentionThereIsNoEncoder) {
  LayerTestHarness<float> run;
  const Captioner<float> model = Make(run, "cross_attention: false");
  EXPECT_EQ(model.encoder(), nullptr);
  EXPECT_FALSE(model.decoder().attends_to_memory());
  for (const ParameterInfo& info : run.store().parameters()) {
    EXPECT_EQ(info.name.find("encoder.") == 0 ||
                  info.name.find("cross") != std::string::npos,
              false)
        << info.name;
  }
  const Memory<float> memory = model.Encode(run.Begin(), 3, Var<float>());
  EXPECT_EQ(memory.sources, 3);
  EXPECT_FALSE(memory.values.has_value());
}

TEST(CaptionerTest, ReportsOptionsThatDoNotFit) {
  EXPECT_THAT(Problems(ConfigOf()), ElementsAre());
  EXPECT_THAT(Problems(ConfigOf("map_layer: 2")), ElementsAre("map_layer"));
  EXPECT_THAT(Problems(ConfigOf("map_layer: -2")), ElementsAre("map_layer"));
  CaptionerConfig config = ConfigOf();
  config.mutable_vision_transformer()->set_patch(0);
  EXPECT_THAT(Problems(config), ElementsAre("vision_transformer.patch"));
  config = ConfigOf();
  config.mutable_decoder()->set_width(5);
  EXPECT_THAT(Problems(config), ElementsAre("decoder.attention.heads"));
  for (const int layers : {-5, INT_MIN}) {
    config = ConfigOf();
    config.mutable_decoder()->set_layers(layers);
    EXPECT_THAT(Problems(config), Not(Contains("map_layer")));
  }
  EXPECT_THAT(Problems(ConfigOf("tokens {}")), ElementsAre());
  EXPECT_THAT(Problems(ConfigOf("tokens { vocabulary: '' } begin: '' ids: -1")),
              ElementsAre("ids", "begin", "tokens.vocabulary"));
  EXPECT_THAT(Problems(ConfigOf("", "tied_embeddings: SOURCE_TARGET_OUTPUT")),
              ElementsAre("decoder.tied_embeddings"));
}

}  // namespace
}  // namespace regard
