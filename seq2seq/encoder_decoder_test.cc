// Tests gradients and padding of all kinds of models, and compares teacher
// forcing with single steps.
#include "seq2seq/encoder_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"

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
  return model.head().Loss(forward, model->Run(forward, batch), batch.target,
                           /*label_smoothing=*/0);
}

struct Kind {
  const char* config;
  // Whether a pass over one position uses the same kernels as a pass over
  // several positions. False for scores without a fused kernel, because they
  // use matrix products only for several queries.
  bool same_kernels = true;
};

constexpr Kind kEveryKind[] = {
    // Recurrent models.
    {"encoder { embedding: 3 hidden: 4 } attention { additive { width: 5 } } "
     "decoder { embedding: 2 hidden: 4 }"},
    {"encoder { embedding: 3 hidden: 4 reset_gate: RESET_BEFORE } attention { "
     "dot {} } decoder { embedding: 2 hidden: 4 reset_gate: RESET_BEFORE "
     "layers: 1 }"},
    {"encoder { embedding: 3 hidden: 4 cell: LSTM layers: 2 } attention { "
     "additive { width: 3 } } decoder { embedding: 2 hidden: 4 cell: LSTM "
     "layers: 2 }"},
    {"encoder { embedding: 3 hidden: 2 bidirectional: true } attention { "
     "additive {} } decoder { embedding: 2 hidden: 3 initial_state: PROJECTED "
     "readout: STATE_CONTEXT_EMBEDDING }"},
    {"encoder { embedding: 3 hidden: 3 bidirectional: true cell: LSTM } "
     "attention { additive {} } decoder { embedding: 2 hidden: 3 "
     "initial_state: FINAL_STATE cell: LSTM }"},
    {"encoder { embedding: 3 hidden: 4 layers: 2 } attention { dot {} } "
     "decoder { embedding: 2 hidden: 4 initial_state: ZERO query: "
     "CURRENT_STATE readout: ATTENTIONAL input_feeding: true }"},
    {"encoder { embedding: 3 hidden: 4 cell: LSTM } attention { dot {} } "
     "decoder { embedding: 2 hidden: 4 cell: LSTM readout: ATTENTIONAL "
     "input_feeding: true }"},
    {"encoder { embedding: 3 hidden: 4 } attention { additive { width: 3 } } "
     "decoder { embedding: 2 hidden: 4 query: CURRENT_STATE readout: "
     "ATTENTIONAL }",
     /*same_kernels=*/false},
    {"encoder { embedding: 3 hidden: 4 cell: LSTM layers: 2 } attention { dot "
     "{} } decoder { embedding: 2 hidden: 4 cell: LSTM layers: 2 query: "
     "CURRENT_STATE readout: STATE_CONTEXT_EMBEDDING }",
     /*same_kernels=*/false},
    {"encoder { embedding: 3 hidden: 4 } decoder { embedding: 2 hidden: 4 "
     "context: LAST_STATE }"},
    {"encoder { embedding: 3 hidden: 4 } decoder { embedding: 2 hidden: 4 "
     "context: LAST_STATE query: CURRENT_STATE readout: ATTENTIONAL "
     "input_feeding: true }"},
    {"encoder { embedding: 3 hidden: 2 bidirectional: true } decoder { "
     "embedding: 2 hidden: 3 context: LAST_STATE initial_state: PROJECTED "
     "readout: STATE_CONTEXT_EMBEDDING }"},
    {"encoder { embedding: 3 hidden: 4 cell: LSTM } decoder { embedding: 2 "
     "hidden: 4 cell: LSTM context: NO_CONTEXT }"},
    // Transformers, and mixed models.
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
    {"transformer { width: 4 layers: 2 recompute: true attention { heads: 4 "
     "head_width: 2 value_width: 3 head_output { differential {} } } "
     "cross_attention { head_output { gate { bias: 1 } } } }"},
};

// The backward direction ends at the beginning of a sentence. The decoder must
// start from the final state of this direction, not of the forward direction.
TEST(RecurrentEncoderTest, TheFinalStateOfBothDirectionsIsTheBackwardState) {
  TestModel<double> model(
      "encoder { embedding: 3 hidden: 3 bidirectional: true } attention { "
      "additive {} } decoder { embedding: 2 hidden: 3 }");
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const Memory<double> memory =
      model->encoder->Encode(forward, batch.source.ids, batch.source.lengths);
  const absl::Span<const double> summary = memory.summary.span();
  const absl::Span<const double> state = memory.final_state[0][0].span();
  ASSERT_EQ(summary.size(), 18u);
  ASSERT_EQ(state.size(), 9u);
  for (size_t source = 0; source < 3; ++source) {
    EXPECT_EQ(state.subspan(3 * source, 3), summary.subspan(6 * source + 3, 3));
    EXPECT_NE(state.subspan(3 * source, 3), summary.subspan(6 * source, 3));
  }
}

class EncoderDecoderTest : public ::testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(EveryKind, EncoderDecoderTest,
                         ::testing::ValuesIn(kEveryKind));

TEST_P(EncoderDecoderTest, GradientAgreesWithDifferences) {
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
  const std::vector<double> start(model.store().values().begin(),
                                  model.store().values().end());
  const absl::Span<const ParameterInfo> parameters = model.store().parameters();
  // Checks each parameter separately, then all parameters along random
  // directions.
  for (size_t k = 0; k < parameters.size() + 3; ++k) {
    std::vector<double> direction(start.size());
    double expected = 0;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (k < parameters.size() && p != k) continue;
      for (int64_t i = 0; i < parameters[p].size(); ++i) {
        const auto at = static_cast<size_t>(parameters[p].offset + i);
        direction[at] = 2 * random.UniformAt(k * start.size() + at) - 1;
        expected += direction[at] * gradients.values()[at];
      }
    }
    const auto loss_at = [&](double step) {
      const absl::Span<double> values = model.store().values();
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = start[i] + step * direction[i];
      }
      return loss().item();
    };
    constexpr double kStep = 1e-5;  // small, because ReLU is not smooth
    const double difference = (8 * (loss_at(kStep) - loss_at(-kStep)) -
                               (loss_at(2 * kStep) - loss_at(-2 * kStep))) /
                              (12 * kStep);
    EXPECT_NEAR(expected, difference, 1e-8 * (1 + std::abs(difference)))
        << (k < parameters.size() ? parameters[k].name : "all");
    std::copy(start.begin(), start.end(), model.store().values().begin());
  }
}

TEST_P(EncoderDecoderTest, PaddingChangesNothingAndGetsNoGradient) {
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
    // The output layer reads all rows of a tied embedding, so the row of
    // padding has a gradient.
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

TEST_P(EncoderDecoderTest, TeacherForcingEqualsStepsWordByWord) {
  TestModel<double> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const int64_t time = batch.input.time;
  const auto maps_of = [&](auto pass) {
    return RecordAttentionMaps(forward, {kDecoderMaps}, pass);
  };
  Var<double> all;
  const std::vector<AttentionMap<double>> wholes =
      maps_of([&] { all = model->Run(forward, batch); });
  EXPECT_EQ(all.dim(0), batch.source.rows);
  EXPECT_EQ(all.dim(1), time);
  EXPECT_EQ(MemoryAlignment<double>(wholes).weights.empty(),
            !model->decoder->attends_to_memory());
  DecoderState<double> state =
      model.Begin(forward, batch.source.ids, batch.source.lengths);
  for (int64_t t = 0; t < time; ++t) {
    EXPECT_EQ(state.position(), t);
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      ids.push_back(batch.input.ids[b * time + t]);
    }
    Var<double> step;
    const std::vector<AttentionMap<double>> maps = maps_of(
        [&] { step = model->decoder->Advance(forward, ids, {}, &state); });
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      for (int64_t i = 0; i < step.cols(); ++i) {
        EXPECT_NEAR(step.at(b, i), all.at(b * time + t, i), 1e-14);
      }
    }
    ASSERT_EQ(maps.size(), wholes.size());
    for (size_t m = 0; m < maps.size(); ++m) {
      const AttentionMap<double>& now = maps[m];
      EXPECT_EQ(now.name, wholes[m].name);
      const auto keys = static_cast<size_t>(now.shape[3]);
      const auto whole_keys = static_cast<size_t>(wholes[m].shape[3]);
      // The rows are ordered by batch, head and query.
      const size_t rows = now.weights.size() / keys;
      for (size_t row = 0; row < rows; ++row) {
        const size_t b = row / (rows / batch.source.rows);
        double sum = 0;
        for (size_t k = 0; k < keys; ++k) {
          const double weight = now.weights[row * keys + k];
          if (now.over_memory &&
              static_cast<int32_t>(k) >= batch.source.lengths[b]) {
            EXPECT_EQ(weight, 0);
          }
          EXPECT_NEAR(weight,
                      wholes[m].weights[(row * time + t) * whole_keys + k],
                      1e-14);
          sum += weight;
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
    }
  }
}

// If a step uses the kernels of teacher forcing, float outputs must be
// bit-identical. Otherwise, they must be close.
TEST_P(EncoderDecoderTest, TeacherForcingHasTheBitsOfASearch) {
  TestModel<float> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const Var<float> all = model->Run(forward, batch);
  const ScratchScope<float> scratch(tape);
  DecoderStateStore<float> cache(
      model.Begin(forward, batch.source.ids, batch.source.lengths),
      {.rows = batch.source.rows, .vocabulary = kTargetWords}, tape.scratch());
  for (int64_t t = 0; t < batch.input.time; ++t) {
    const Tape<float>::Mark mark = tape.Save();
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      ids.push_back(batch.input.ids[b * batch.input.time + t]);
    }
    DecoderState<float> state = cache.View(tape);
    const Var<float> step = model->decoder->Advance(forward, ids, {}, &state);
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      for (int64_t i = 0; i < step.cols(); ++i) {
        const float want = all.at(b * batch.input.time + t, i);
        if (GetParam().same_kernels) {
          EXPECT_EQ(step.at(b, i), want);
        } else {
          EXPECT_NEAR(step.at(b, i), want, 1e-6 * (1 + std::abs(want)));
        }
      }
    }
    cache.Gather(state, {0, 1, 2}, 1);
    tape.Rewind(mark);
  }
}

// Valid readouts and all gradients must be equal with and without lengths.
TEST_P(EncoderDecoderTest, LengthsDoNotChangeValidReadoutsOrGradients) {
  TestModel<double> model(GetParam().config);
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t longest_first[] = {1, 0, 2};
  GradientSlab<double> gradients(model.store());
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), &gradients);
  struct Result {
    std::vector<double> readouts;
    std::vector<double> gradients;
    int64_t flops;
  };
  const auto run = [&](bool with_lengths) {
    const int64_t flops = GemmFlops();
    forward.BeginStep();
    const Batch batch = MakeBatch(pairs, longest_first, tape.arena());
    const Var<double> readout = model->Run(
        forward, batch,
        with_lengths ? batch.input.lengths : absl::Span<const int32_t>());
    EXPECT_EQ(readout.dim(0), batch.source.rows);
    EXPECT_EQ(readout.dim(1), batch.input.time);
    Result result;
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      const double* const row =
          readout.data() + b * batch.input.time * readout.cols();
      result.readouts.insert(result.readouts.end(), row,
                             row + batch.input.lengths[b] * readout.cols());
    }
    const Var<double> scalars[] = {model.head().Loss(
        forward, readout, batch.target, /*label_smoothing=*/0)};
    const double seeds[] = {1};
    forward.Backward(scalars, seeds);
    result.gradients.assign(gradients.values().begin(),
                            gradients.values().end());
    result.flops = GemmFlops() - flops;
    return result;
  };
  const Result all = run(false);
  const Result cut = run(true);
  EXPECT_EQ(cut.readouts, all.readouts);
  for (size_t i = 0; i < all.gradients.size(); ++i) {
    EXPECT_NEAR(cut.gradients[i], all.gradients[i], 1e-13) << i;
  }
  const bool recurrent =
      model.store().FindByName("decoder.rnn.0.weight_hh").has_value();
  if (recurrent) {
    EXPECT_LT(cut.flops, all.flops);
  } else {
    EXPECT_EQ(cut.flops, all.flops);
  }
}

// Ended rows must be dropped once they are at least an eighth of all rows,
// rounded up.
TEST(EndedRowsTest, AreRemovedOnceTheyAreAnEighth) {
  TestModel<float> model(kEveryKind[0].config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  const auto left = [&](size_t rows, size_t ended) {
    forward.BeginStep();
    std::vector<int32_t> lengths(rows, 3);
    std::fill(lengths.end() - static_cast<int64_t>(ended), lengths.end(), 2);
    const std::vector<int32_t> words(3 * rows, 4);
    DecoderState<float> state = model.Begin(forward, words, lengths);
    model->decoder->Advance(forward, words, lengths, &state);
    return state.sources();
  };
  EXPECT_EQ(left(8, 1), 7);
  EXPECT_EQ(left(9, 1), 9);
  EXPECT_EQ(left(9, 2), 7);
}

TEST(EncoderDecoderDeathTest, LengthsMustNotIncrease) {
  TestModel<float> model(kEveryKind[0].config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(Pairs(), {0, 1, 2}, tape.arena());
  EXPECT_DEATH(model->Run(forward, batch, batch.input.lengths),
               "3 lengths for 3 rows, in falling order");
}

// Reading a prompt at once must give the same result as reading it one word at
// a time.
TEST_P(EncoderDecoderTest, APromptEqualsItsWordsOneByOne) {
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
  const Var<float> a = model->decoder->Advance(forward, {6, 4}, {}, &at_once);
  const Var<float> b =
      model->decoder->Advance(forward, {6, 4}, {}, &one_by_one);
  for (int64_t i = 0; i < a.size(); ++i) {
    if (GetParam().same_kernels) {
      EXPECT_EQ(a.data()[i], b.data()[i]);
    } else {
      EXPECT_NEAR(a.data()[i], b.data()[i], 1e-6 * (1 + std::abs(b.data()[i])));
    }
  }
}

// n steps of one word must have the gradients of one call with n words.
TEST_P(EncoderDecoderTest, StepsHaveTheGradientOfTeacherForcing) {
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
      model.Begin(forward, batch.source.ids, batch.source.lengths);
  Var<double> sum;
  for (size_t t = 0; t < 3; ++t) {
    const Var<double> loss = model.head().Loss(
        forward,
        model->decoder->Advance(forward, batch.input.ids.subspan(t, 1), {},
                                &state),
        batch.target.subspan(t, 1), /*label_smoothing=*/0);
    sum = t == 0 ? loss : sum + loss;
  }
  const Var<double> scalars[] = {sum};
  forward.Backward(scalars, seeds);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradients.values()[i], expected[i], 1e-12);
  }
}

TEST_P(EncoderDecoderTest, RequiresOneIdForEachRow) {
  TestModel<float> model(GetParam().config);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 3, 5, 3}, {2, 2});
  EXPECT_DEATH(model->decoder->Advance(forward, {4, 5, 6}, {}, &state),
               "3 ids for 2 rows");
  EXPECT_DEATH(model->decoder->Advance(forward, {}, {}, &state),
               "0 ids for 2 rows");
}

}  // namespace
}  // namespace regard
