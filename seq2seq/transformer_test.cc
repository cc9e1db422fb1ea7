// Models with Transformer encoders, decoders or both: gradients, caches,
// searches, recomputation, padding, and sizes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/batch.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/test_model.h"
#include "seq2seq/transformer_decoder.h"
#include "seq2seq/vocabulary.h"

namespace regard {
namespace {

std::vector<EncodedPair> Pairs() {
  return {{{4, 5, 6, 3}, {4, 7, 3}},
          {{8, 3}, {5, 5, 6, 4, 3}},
          {{7, 4, 7, 4, 5, 3}, {3}}};
}

template <typename T>
Var<T> LossOf(const TestModel<T>& model, Forward<T>& forward,
              absl::Span<const EncodedPair> pairs,
              absl::Span<const int64_t> examples) {
  const Batch batch = MakeBatch(pairs, examples, forward.tape().arena());
  return model.head().Loss(forward, model->Run(forward, batch).readout,
                           batch.target, /*label_smoothing=*/0);
}

struct Kind {
  const char* config;
  // Whether one position has the kernels of several: with scores that have no
  // fused kernel, several queries of a memory make products of matrices.
  bool same_kernels = true;
};

constexpr Kind kEveryKind[] = {
    {"transformer { width: 4 layers: 2 attention { heads: 2 } }"},
    {"transformer { width: 4 layers: 1 attention { heads: 2 } norm_order: POST "
     "position_embedding { kind: LEARNED longest: 8 } tied_embeddings: "
     "TARGET_OUTPUT feed_forward { hidden: 3 activation: GELU } }"},
    // The memory is wider than the decoder.
    {"transformer { width: 4 layers: 1 attention { heads: 2 bias: false } "
     "feed_forward { activation: GELU_TANH } } transformer_encoder { width: 6 "
     "layers: 2 } transformer_decoder { cross_attention { attention { cosine "
     "{} } } }",
     /*same_kernels=*/false},
    {"encoder { embedding: 3 hidden: 3 bidirectional: true } "
     "transformer_decoder { width: 4 layers: 2 attention { heads: 2 } }"},
    {"transformer_encoder { width: 4 layers: 1 attention { heads: 2 } } "
     "decoder "
     "{ embedding: 3 hidden: 5 initial_state: PROJECTED } attention { additive "
     "{ width: 3 } }"},
    {"transformer { width: 4 layers: 2 recompute: true attention { heads: 4 "
     "key_heads: 2 head_width: 2 attention { additive { width: 3 } window: 3 "
     "position_encoding { rotary {} } } } feed_forward { hidden: 3 activation: "
     "SWIGLU bias: false chunk: 2 } norm { kind: RMS_NORM } "
     "position_embedding { kind: NONE } output_bias: false }",
     /*same_kernels=*/false},
};

class TransformerTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(EveryKind, TransformerTest,
                         ::testing::ValuesIn(kEveryKind));

TEST_P(TransformerTest, GradientAgreesWithDifferences) {
  TestModel<double> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  GradientSlab<double> gradients(model.store());
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), &gradients);
  const auto loss = [&] {
    forward.BeginStep();
    return LossOf(model, forward, pairs, examples);
  };
  const Var<double> scalars[] = {loss()};
  const double seeds[] = {1};
  forward.Backward(scalars, seeds);
  const RandomStream random(11, "direction");
  const absl::Span<double> values = model.store().values();
  const std::vector<double> start(values.begin(), values.end());
  const absl::Span<const ParameterInfo> parameters = model.store().parameters();
  // Each parameter alone, then all.
  for (size_t k = 0; k <= parameters.size(); ++k) {
    std::vector<double> direction(values.size());
    double expected = 0;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (k < parameters.size() && p != k) continue;
      for (int64_t i = 0; i < parameters[p].size(); ++i) {
        const auto at = static_cast<size_t>(parameters[p].offset + i);
        direction[at] = 2 * random.UniformAt(k * values.size() + at) - 1;
        expected += direction[at] * gradients.values()[at];
      }
    }
    const auto loss_at = [&](double step) {
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = start[i] + step * direction[i];
      }
      return loss().item();
    };
    constexpr double kStep = 1e-4;
    const double difference = (8 * (loss_at(kStep) - loss_at(-kStep)) -
                               (loss_at(2 * kStep) - loss_at(-2 * kStep))) /
                              (12 * kStep);
    EXPECT_NEAR(expected, difference, 1e-8 * (1 + std::abs(difference)))
        << (k < parameters.size() ? parameters[k].name : "all");
    std::copy(start.begin(), start.end(), values.begin());
  }
}

TEST_P(TransformerTest, PaddingChangesNothingAndGetsNoGradient) {
  TestModel<float> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  GradientSlab<float> gradients(model.store());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), &gradients);
  const auto loss = [&](const std::vector<int64_t>& examples) {
    forward.BeginStep();
    return LossOf(model, forward, pairs, examples);
  };
  double alone = 0;
  for (int64_t i = 0; i < 3; ++i) {
    alone += static_cast<double>(loss({i}).item());
  }
  const Var<float> together = loss({0, 1, 2});
  EXPECT_NEAR(static_cast<double>(together.item()), alone, 1e-5 * alone);
  const Var<float> scalars[] = {together};
  const double seeds[] = {1};
  const float before = together.item();
  forward.Backward(scalars, seeds);
  const bool tied = !model.store().aliases().empty();
  for (const char* name :
       {"encoder.embedding.weight", "decoder.embedding.weight"}) {
    // The output reads a tied weight in all rows.
    if (tied && std::string(name) == "decoder.embedding.weight") continue;
    const Parameter<float> weight = *model.store().FindByName(name);
    const auto width =
        static_cast<size_t>(model.store().info(weight).shape.cols());
    const absl::Span<const float> gradient =
        model.store().Segment(gradients.values(), weight);
    for (size_t i = 0; i < width; ++i) {
      EXPECT_EQ(gradient[Vocabulary::kPad * width + i], 0) << name;
      model.value(name)[Vocabulary::kPad * width + i] = 1e6f;
    }
  }
  EXPECT_EQ(loss({0, 1, 2}).item(), before);
}

TEST_P(TransformerTest, TeacherForcingIsAdvancingWordByWord) {
  TestModel<double> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const int64_t time = batch.target_time;
  const DecoderOutput<double> all =
      model->Run(forward, batch, {.want_maps = true});
  DecoderState<double> state =
      model.Begin(forward, batch.source, batch.source_lengths);
  for (int64_t t = 0; t < time; ++t) {
    EXPECT_EQ(state.position(), t);
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < batch.size; ++b) {
      ids.push_back(batch.target_input[b * time + t]);
    }
    const DecoderOutput<double> step =
        model->decoder->Advance(forward, ids, {.want_maps = true}, &state);
    for (int64_t b = 0; b < batch.size; ++b) {
      for (int64_t i = 0; i < step.readout.cols(); ++i) {
        EXPECT_NEAR(all.readout.array()(b * time + t, i),
                    step.readout.array()(b, i), 1e-12);
      }
    }
    ASSERT_EQ(step.maps.size(), all.maps.size());
    for (size_t m = 0; m < step.maps.size(); ++m) {
      EXPECT_EQ(std::string(step.maps[m].name), all.maps[m].name);
      const Var<double> whole = all.maps[m].weights;
      const Var<double> now = step.maps[m].weights;
      // Rows are batch, head, query.
      for (int64_t row = 0; row < now.rows(); ++row) {
        double sum = 0;
        for (int64_t k = 0; k < now.cols(); ++k) {
          EXPECT_NEAR(now.array()(row, k), whole.array()(row * time + t, k),
                      1e-12);
          sum += now.array()(row, k);
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
    }
  }
}

// In float; bit by bit where the kernels of a step are those of teacher
// forcing.
TEST_P(TransformerTest, TeacherForcingHasTheBitsOfASearch) {
  TestModel<float> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const Var<float> all = model->Run(forward, batch).readout;
  const ScratchScope<float> scratch(tape);
  DecoderCache<float> cache(
      model.Begin(forward, batch.source, batch.source_lengths),
      {.rows = batch.size, .vocabulary = kTargetWords}, tape.scratch());
  for (int64_t t = 0; t < batch.target_time; ++t) {
    const Tape<float>::Mark mark = tape.Save();
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < batch.size; ++b) {
      ids.push_back(batch.target_input[b * batch.target_time + t]);
    }
    DecoderState<float> state = cache.View(tape);
    const Var<float> step =
        model->decoder->Advance(forward, ids, {}, &state).readout;
    for (int64_t b = 0; b < batch.size; ++b) {
      for (int64_t i = 0; i < step.cols(); ++i) {
        const float want = all.array()(b * batch.target_time + t, i);
        if (GetParam().same_kernels) {
          EXPECT_EQ(step.array()(b, i), want);
        } else {
          EXPECT_NEAR(step.array()(b, i), want, 1e-6 * (1 + std::abs(want)));
        }
      }
    }
    cache.Gather(state, {0, 1, 2}, 1);
    tape.Rewind(mark);
  }
}

// A prompt at once, then steps.
TEST_P(TransformerTest, APromptIsItsWordsOneByOne) {
  TestModel<float> model(GetParam().config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const std::vector<int32_t> source = {4, 5, 3, 7, 3, 0};
  const std::vector<int32_t> lengths = {3, 2};
  DecoderState<float> at_once = model.Begin(forward, source, lengths);
  DecoderState<float> one_by_one = model.Begin(forward, source, lengths);
  model->decoder->Advance(forward, {2, 4, 7, 2, 5, 5}, {}, &at_once);
  for (const std::vector<int32_t>& ids :
       std::vector<std::vector<int32_t>>{{2, 2}, {4, 5}, {7, 5}}) {
    model->decoder->Advance(forward, ids, {}, &one_by_one);
  }
  const Var<float> a =
      model->decoder->Advance(forward, {6, 4}, {}, &at_once).readout;
  const Var<float> b =
      model->decoder->Advance(forward, {6, 4}, {}, &one_by_one).readout;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (GetParam().same_kernels) {
      EXPECT_EQ(a.data()[i], b.data()[i]);
    } else {
      EXPECT_NEAR(a.data()[i], b.data()[i], 1e-6 * (1 + std::abs(b.data()[i])));
    }
  }
}

// Gradients through n steps of one word are those of one call for n words.
TEST_P(TransformerTest, StepsHaveTheGradientOfTeacherForcing) {
  TestModel<double> model(GetParam().config);
  const std::vector<EncodedPair> pairs = {{{4, 5, 6, 3}, {4, 7, 3}}};
  GradientSlab<double> gradients(model.store());
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), &gradients);
  const double seeds[] = {1};
  forward.BeginStep();
  const Var<double> whole[] = {LossOf(model, forward, pairs, {0})};
  forward.Backward(whole, seeds);
  const std::vector<double> expected(gradients.values().begin(),
                                     gradients.values().end());
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, {0}, tape.arena());
  DecoderState<double> state =
      model.Begin(forward, batch.source, batch.source_lengths);
  Var<double> sum;
  for (size_t t = 0; t < 3; ++t) {
    const Var<double> loss = model.head().Loss(
        forward,
        model->decoder
            ->Advance(forward, batch.target_input.subspan(t, 1), {}, &state)
            .readout,
        batch.target.subspan(t, 1), /*label_smoothing=*/0);
    sum = t == 0 ? loss : sum + loss;
  }
  const Var<double> scalars[] = {sum};
  forward.Backward(scalars, seeds);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradients.values()[i], expected[i], 1e-12);
  }
}

// Recomputation in both parts, with dropout and DropPath: loss and gradients.
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
    const std::vector<EncodedPair> pairs = Pairs();
    const Var<float> scalars[] = {LossOf(model, forward, pairs, {0, 1, 2})};
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
               "keys of the positions before 3 were not kept");
}

TEST(TransformerDecoderDeathTest, RefusesIdsThatAreNotARowEach) {
  TestModel<float> model(kEveryKind[0].config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 3, 5, 3}, {2, 2});
  EXPECT_DEATH(model->decoder->Advance(forward, {4, 5, 6}, {}, &state),
               "3 ids for 2 rows");
  EXPECT_DEATH(model->decoder->Advance(forward, {}, {}, &state),
               "0 ids for 2 rows");
}

TEST(TransformerPositionsTest, LearnedPositionsAndDistancesLimitTheLength) {
  const TestModel<float> learned(kEveryKind[1].config);
  EXPECT_EQ(learned->encoder->longest_position(), 8);
  EXPECT_EQ(learned->decoder->longest_position(), 8);
  const TestModel<float> sinusoidal(kEveryKind[0].config);
  EXPECT_EQ(sinusoidal->encoder->longest_position(),
            Encoder<float>::kUnlimited);
  EXPECT_EQ(sinusoidal->decoder->longest_position(),
            Decoder<float>::kUnlimited);
  const TestModel<float> relative(
      "transformer { width: 4 layers: 1 attention { heads: 2 attention { "
      "relative_dot { max_position: 5 } } } }");
  EXPECT_EQ(relative->encoder->longest_position(), 5);
  EXPECT_EQ(relative->decoder->longest_position(), 5);
  EXPECT_EQ(relative->decoder->longest_memory(), 5);
  const TestModel<float> in_itself(
      "transformer { width: 4 layers: 1 attention { heads: 2 attention { "
      "relative_dot { max_position: 5 } } } cross_attention { attention { dot "
      "{} } } }");
  EXPECT_EQ(in_itself->decoder->longest_position(), 5);
  EXPECT_EQ(in_itself->decoder->longest_memory(), Decoder<float>::kUnlimited);
}

TEST(TransformerMapsTest, AreNamedByLayerAndKind) {
  TestModel<float> model(kEveryKind[0].config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 5, 3}, {3});
  const DecoderOutput<float> output =
      model->decoder->Advance(forward, {2, 4}, {.want_maps = true}, &state);
  std::vector<std::string> names;
  for (const AttentionMap<float>& map : output.maps) {
    names.push_back(map.name);
    EXPECT_EQ(map.weights.shape(),
              map.over_memory ? Shape({1, 2, 2, 3}) : Shape({1, 2, 2, 2}));
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("decoder.0.self", "decoder.0.cross",
                                     "decoder.1.self", "decoder.1.cross"));
}

TEST(TransformerSizeTest, OfAnEncoderDecoder) {
  ScorerRegistry scorers;
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

// Language models: decoders without a memory.
int64_t CountOfLanguageModel(const char* config, int64_t vocabulary) {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  ParameterStore<float> store;
  const TransformerDecoder<float> decoder(Parse<TransformerConfig>(config),
                                          scorers, {.vocabulary = vocabulary},
                                          store.Root());
  return store.num_elements();
}

TEST(TransformerSizeTest, OfGpt2) {
  EXPECT_EQ(CountOfLanguageModel(
                "width: 768 layers: 12 attention { heads: 12 } feed_forward { "
                "activation: GELU_TANH } position_embedding { kind: LEARNED "
                "longest: 1024 } tied_embeddings: TARGET_OUTPUT",
                50257),
            124'439'808);
}

TEST(TransformerSizeTest, OfACharacterModelWithoutBiases) {
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
