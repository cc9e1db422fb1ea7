// Tests features of Transformers: activation checkpointing, limits of
// positions, maps of each layer, and published sizes.
#include <cstdint>
#include <string>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/inspection/attention_maps.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"
#include "seq2seq/transformer_decoder.h"

namespace regard {
namespace {

constexpr char kTwoLayers[] =
    "transformer { width: 4 layers: 2 attention { heads: 2 } }";
constexpr char kLearnedPositions[] =
    "transformer { width: 4 layers: 1 attention { heads: 2 } "
    "position_embedding { kind: LEARNED longest: 8 } }";

// Compares loss and gradients with and without activation checkpointing in
// encoder and decoder. The model has dropout and DropPath.
TEST(TransformerRecomputeTest, ChangesNoBit) {
  std::vector<float> gradients[2];
  float loss[2];
  for (const bool recompute : {false, true}) {
    auto config = Parse<EncoderDecoderConfig>(
        "transformer { width: 8 layers: 3 dropout: 0.2 drop_path: 0.3 "
        "attention { heads: 2 attention { dropout: 0.1 } } feed_forward { "
        "dropout: 0.1 } }");
    config.mutable_transformer()->set_recompute(recompute);
    TestModel<float> model(config);
    GradientSlab<float> slab(model.store());
    Tape<float> tape;
    tape.set_training(true);
    Forward<float> forward(tape, model.store(), &slab);
    forward.BeginStep();
    const std::vector<EncodedPair> pairs = {{{4, 5, 6, 3}, {4, 7, 3}},
                                            {{8, 3}, {5, 5, 6, 4, 3}},
                                            {{7, 4, 7, 4, 5, 3}, {3}}};
    const Batch batch = MakeBatch(pairs, {0, 1, 2}, tape.arena());
    const Var<float> scalars[] = {
        model.head().Loss(forward, model->Run(forward, batch), batch.target,
                          /*label_smoothing=*/0)};
    loss[recompute] = scalars[0].item();
    forward.Backward(scalars, {1.0});
    gradients[recompute].assign(slab.values().begin(), slab.values().end());
  }
  EXPECT_EQ(loss[0], loss[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST(TransformerDecoderDeathTest, ARecomputedTargetLeavesNoKeys) {
  TestModel<float> model(
      "transformer { width: 4 layers: 1 attention { heads: 2 } recompute: true "
      "}");
  GradientSlab<float> slab(model.store());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), &slab);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 3}, {2});
  model->decoder->Advance(forward, {2, 4, 5}, {}, &state);
  EXPECT_DEATH(model->decoder->Advance(forward, {4}, {}, &state),
               "slot 0 holds 0 of 3 earlier positions");
}

TEST(TransformerPositionsTest, LearnedPositionsAndDistancesLimitTheLength) {
  const TestModel<float> learned(kLearnedPositions);
  EXPECT_EQ(learned->encoder->longest_position(), 8);
  EXPECT_EQ(learned->decoder->longest_position(), 8);
  const TestModel<float> sinusoidal(kTwoLayers);
  EXPECT_EQ(sinusoidal->encoder->longest_position(), kUnlimited);
  EXPECT_EQ(sinusoidal->decoder->longest_position(), kUnlimited);
  const TestModel<float> relative(
      "transformer { width: 4 layers: 1 attention { heads: 2 attention { "
      "relative_dot { max_position: 5 } } } }");
  EXPECT_EQ(relative->encoder->longest_position(), 5);
  EXPECT_EQ(relative->decoder->longest_position(), 5);
  EXPECT_EQ(relative->decoder->longest_memory(), kUnlimited);
  const TestModel<float> to_memory(
      "transformer { width: 4 layers: 1 attention { heads: 2 attention { "
      "relative_dot { max_position: 5 } } } cross_attention { attention { "
      "relative_dot {} } } }");
  EXPECT_EQ(to_memory->decoder->longest_position(), 5);
  EXPECT_EQ(to_memory->decoder->longest_memory(), 5);
}

TEST(TransformerMapsTest, AreNamedByLayerAndKind) {
  TestModel<float> model(kTwoLayers);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 5, 3}, {3});
  std::vector<std::string> names;
  for (const AttentionMap<float>& map :
       RecordAttentionMaps(forward, {kAllMaps}, [&] {
         model->decoder->Advance(forward, {2, 4}, {}, &state);
       })) {
    names.push_back(map.name);
    EXPECT_EQ(map.shape,
              map.over_memory ? Shape({1, 2, 2, 3}) : Shape({1, 2, 2, 2}));
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("decoder.0.self", "decoder.0.cross",
                                     "decoder.1.self", "decoder.1.cross"));
}

TEST(TransformerMapsTest, ShowOnlySelfAttentionWithoutAMemory) {
  TestModel<float> model(kTwoLayers);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  Var<float> whole;
  std::vector<std::string> names;
  for (const AttentionMap<float>& map :
       RecordAttentionMaps(forward, {kAllMaps}, [&] {
         whole = model->decoder->Run(forward, {.sources = 1}, {2, 4, 5});
       })) {
    names.push_back(map.name);
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("decoder.0.self", "decoder.1.self"));
  DecoderState<float> state = model->decoder->Begin(forward, {.sources = 1});
  model->decoder->Advance(forward, {2, 4}, {}, &state);
  const Var<float> last = model->decoder->Advance(forward, {5}, {}, &state);
  EXPECT_EQ(whole.span().subspan(8), last.span());
}

TEST(TransformerMapsTest, TheConfigChoosesTheAlignment) {
  const TestModel<float> plain(kTwoLayers);
  EXPECT_EQ(plain->decoder->alignment().layer, 1);  // the last layer
  EXPECT_EQ(plain->decoder->alignment().head, -1);
  auto config = Parse<EncoderDecoderConfig>(kTwoLayers);
  config.mutable_alignment()->set_layer(0);
  config.mutable_alignment()->set_head(1);
  const TestModel<float> chosen(config);
  EXPECT_EQ(chosen->decoder->alignment().layer, 0);
  EXPECT_EQ(chosen->decoder->alignment().head, 1);
}

TEST(TransformerSizeTest, CountsAnEncoderDecoder) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ParameterStore<float> store;
  MakeModel<float>(
      Parse<EncoderDecoderConfig>(
          "transformer { width: 256 layers: 3 attention { heads: 8 } "
          "feed_forward { hidden: 512 } norm_order: POST position_embedding { "
          "kind: LEARNED longest: 100 } }"),
      scorers, {.source = 7853, .target = 5893}, store.Root());
  EXPECT_EQ(store.num_elements(), 9'038'341);
}

TEST(TransformerSizeTest, OneWeightForSourceTargetAndOutput) {
  const char* const config =
      "transformer { width: 4 layers: 1 attention { heads: 2 } "
      "tied_embeddings: SOURCE_TARGET_OUTPUT }";
  TestModel<float> tied(config, kSourceWords);
  const auto weight = *tied.store().FindByName("encoder.embedding.weight");
  EXPECT_EQ(*tied.store().FindByName("decoder.embedding.weight"), weight);
  EXPECT_EQ(*tied.store().FindByName("decoder.output.weight"), weight);
  TestModel<float> apart(
      "transformer { width: 4 layers: 1 attention { heads: 2 } output_bias: "
      "false }",
      kSourceWords);
  EXPECT_EQ(apart.store().num_elements() - tied.store().num_elements(),
            2 * kSourceWords * 4);
}

// Returns the number of parameters of a language model, a decoder without a
// memory.
int64_t CountOfLanguageModel(const char* config, int64_t vocabulary) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ParameterStore<float> store;
  const TransformerDecoder<float> decoder(Parse<TransformerConfig>(config),
                                          scorers, {.vocabulary = vocabulary},
                                          store.Root());
  return store.num_elements();
}

TEST(TransformerSizeTest, CountsGpt2) {
  EXPECT_EQ(CountOfLanguageModel(
                "width: 768 layers: 12 attention { heads: 12 } feed_forward { "
                "activation: GELU_TANH } position_embedding { kind: LEARNED "
                "longest: 1024 } tied_embeddings: TARGET_OUTPUT",
                50257),
            124'439'808);
}

TEST(TransformerSizeTest, CountsACharacterModelWithoutBiases) {
  EXPECT_EQ(CountOfLanguageModel(
                "width: 128 layers: 4 attention { heads: 4 bias: false } "
                "feed_forward { activation: GELU bias: false } norm { bias: "
                "false } position_embedding { kind: LEARNED longest: 64 } "
                "tied_embeddings: TARGET_OUTPUT",
                65),
            804'096);
}

}  // namespace
}  // namespace regard
