// Models with and without attention: sizes, the published formulas, gradients,
// and padding.
#include "seq2seq/recurrent_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/batch.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/test_model.h"
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

// Configs of every kind.
constexpr Configs kEveryKind[] = {
    {"embedding: 3 hidden: 4", "additive { width: 5 }",
     "embedding: 2 hidden: 4"},
    {"embedding: 3 hidden: 4 reset_gate: RESET_BEFORE", "dot {}",
     "embedding: 2 hidden: 4 reset_gate: RESET_BEFORE layers: 1"},
    {"embedding: 3 hidden: 4 cell: LSTM layers: 2", "additive { width: 3 }",
     "embedding: 2 hidden: 4 cell: LSTM layers: 2"},
    {"embedding: 3 hidden: 2 bidirectional: true", "additive {}",
     "embedding: 2 hidden: 3 initial_state: PROJECTED "
     "readout: STATE_CONTEXT_EMBEDDING"},
    {"embedding: 3 hidden: 3 bidirectional: true cell: LSTM", "additive {}",
     "embedding: 2 hidden: 3 initial_state: FINAL_STATE cell: LSTM"},
    {"embedding: 3 hidden: 4 layers: 2", "dot {}",
     "embedding: 2 hidden: 4 initial_state: ZERO query: CURRENT_STATE "
     "readout: ATTENTIONAL input_feeding: true"},
    {"embedding: 3 hidden: 4 cell: LSTM", "dot {}",
     "embedding: 2 hidden: 4 cell: LSTM readout: ATTENTIONAL "
     "input_feeding: true"},
    {"embedding: 3 hidden: 4", nullptr,
     "embedding: 2 hidden: 4 context: LAST_STATE"},
    {"embedding: 3 hidden: 2 bidirectional: true", nullptr,
     "embedding: 2 hidden: 3 context: LAST_STATE initial_state: PROJECTED "
     "readout: STATE_CONTEXT_EMBEDDING"},
    {"embedding: 3 hidden: 4 cell: LSTM", nullptr,
     "embedding: 2 hidden: 4 cell: LSTM context: NO_CONTEXT"},
};

class RecurrentDecoderTest : public ::testing::TestWithParam<Configs> {};

INSTANTIATE_TEST_SUITE_P(EveryKind, RecurrentDecoderTest,
                         ::testing::ValuesIn(kEveryKind));

TEST_P(RecurrentDecoderTest, GradientAgreesWithDifferences) {
  TestModel<double> model(GetParam());
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
  const auto size = values.size();
  // Along random directions, and for each parameter alone.
  const absl::Span<const ParameterInfo> parameters = model.store().parameters();
  for (size_t k = 0; k < parameters.size() + 3; ++k) {
    std::vector<double> direction(size);
    double expected = 0;
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (k < parameters.size() && p != k) continue;
      for (int64_t i = 0; i < parameters[p].size(); ++i) {
        const auto at = static_cast<size_t>(parameters[p].offset + i);
        direction[at] = 2 * random.UniformAt(k * size + at) - 1;
        expected += direction[at] * gradients.values()[at];
      }
    }
    const auto loss_at = [&](double step) {
      for (size_t i = 0; i < size; ++i) {
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

TEST_P(RecurrentDecoderTest, PaddingChangesNothingAndGetsNoGradient) {
  TestModel<float> model(GetParam());
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
  for (const char* name :
       {"encoder.embedding.weight", "decoder.embedding.weight"}) {
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

TEST_P(RecurrentDecoderTest, TeacherForcingIsAdvancingWordByWord) {
  TestModel<double> model(GetParam());
  const std::vector<EncodedPair> pairs = Pairs();
  const int64_t examples[] = {0, 1, 2};
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const Batch batch = MakeBatch(pairs, examples, tape.arena());
  const DecoderOutput<double> all =
      model->Run(forward, batch, {.want_maps = true});
  const Var<double> alignment = MemoryAlignment(all.maps);
  ASSERT_EQ(alignment.has_value(), model->decoder->attends_to_memory());
  EXPECT_EQ(all.readout.dim(0), batch.size);
  EXPECT_EQ(all.readout.dim(1), batch.target_time);
  DecoderState<double> state =
      model.Begin(forward, batch.source, batch.source_lengths);
  for (int64_t t = 0; t < batch.target_time; ++t) {
    EXPECT_EQ(state.position(), t);
    std::vector<int32_t> ids;
    for (int64_t b = 0; b < batch.size; ++b) {
      ids.push_back(batch.target_input[b * batch.target_time + t]);
    }
    const DecoderOutput<double> step =
        model->decoder->Advance(forward, ids, {.want_maps = true}, &state);
    const Var<double> weights = MemoryAlignment(step.maps);
    for (int64_t b = 0; b < batch.size; ++b) {
      for (int64_t i = 0; i < step.readout.cols(); ++i) {
        EXPECT_DOUBLE_EQ(all.readout.array()(b * batch.target_time + t, i),
                         step.readout.array()(b, i));
      }
      if (!weights.has_value()) continue;
      double sum = 0;
      for (int64_t k = 0; k < batch.source_time; ++k) {
        const double weight = weights.array()(b, k);
        EXPECT_DOUBLE_EQ(alignment.array()(b * batch.target_time + t, k),
                         weight);
        if (k >= batch.source_lengths[b]) {
          EXPECT_EQ(weight, 0);
        }
        sum += weight;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

// In float, bit by bit: the kernels of a step are those of teacher forcing.
TEST_P(RecurrentDecoderTest, TeacherForcingHasTheBitsOfASearch) {
  TestModel<float> model(GetParam());
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
        EXPECT_EQ(all.array()(b * batch.target_time + t, i),
                  step.array()(b, i));
      }
    }
    cache.Gather(state, {0, 1, 2}, 1);
    tape.Rewind(mark);
  }
}

// Gradients through n steps of one word are those of one call for n words.
TEST_P(RecurrentDecoderTest, StepsHaveTheGradientOfTeacherForcing) {
  TestModel<double> model(GetParam());
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

TEST(RecurrentDecoderDeathTest, RefusesIdsThatAreNotARowEach) {
  TestModel<float> model(kEveryKind[0]);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  DecoderState<float> state = model.Begin(forward, {4, 3, 5, 3}, {2, 2});
  EXPECT_DEATH(model->decoder->Advance(forward, {4, 5, 6}, {}, &state),
               "3 ids for 2 rows");
  EXPECT_DEATH(model->decoder->Advance(forward, {}, {}, &state),
               "0 ids for 2 rows");
}

int64_t CountOf(const Configs& configs) {
  return TestModel<float>(configs).store().num_elements();
}

TEST(RecurrentModelSizeTest, OfTheDecoderWithTheContextInItsRecurrence) {
  // Embeddings 9 x 3 and 8 x 2; encoder 12 x 3 + 12 x 4 + 2 x 12; score
  // 5 (4 + 4 + 1); decoder 12 (4 + 2) + 12 x 4 + 2 x 12; output 8 x 4 + 8.
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", "additive { width: 5 }",
                     "embedding: 2 hidden: 4"}),
            27 + 16 + 108 + 45 + 144 + 40);
}

TEST(RecurrentModelSizeTest, ResettingBeforeHasOneBiasAGate) {
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4 reset_gate: RESET_BEFORE",
                     "additive { width: 5 }",
                     "embedding: 2 hidden: 4 reset_gate: RESET_BEFORE"}),
            27 + 16 + 96 + 45 + 132 + 40);
}

TEST(RecurrentModelSizeTest, OfABidirectionalEncoderAndAWideReadout) {
  // Encoder 2 (16 x 3 + 16 x 4 + 2 x 16); bridge 5 x 8 + 5; score 2 (5 + 8 +
  // 1); decoder 20 (8 + 2) + 20 x 5 + 2 x 20; output 8 (5 + 8 + 2) + 8.
  EXPECT_EQ(
      CountOf({"embedding: 3 hidden: 4 cell: LSTM bidirectional: true",
               "additive { width: 2 }",
               "embedding: 2 hidden: 5 cell: LSTM initial_state: PROJECTED "
               "readout: STATE_CONTEXT_EMBEDDING"}),
      27 + 16 + 288 + 45 + 28 + 340 + 128);
}

TEST(RecurrentModelSizeTest, OfInputFeeding) {
  // Decoder 12 (2 + 4) + 12 x 4 + 2 x 12; attentional 4 (4 + 4); no score.
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", "dot {}",
                     "embedding: 2 hidden: 4 query: CURRENT_STATE "
                     "readout: ATTENTIONAL input_feeding: true"}),
            27 + 16 + 108 + 144 + 32 + 40);
}

TEST(RecurrentModelSizeTest, OfTheBaselines) {
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", nullptr,
                     "embedding: 2 hidden: 4 context: LAST_STATE"}),
            27 + 16 + 108 + 144 + 40);
  EXPECT_EQ(CountOf({"embedding: 3 hidden: 4", nullptr,
                     "embedding: 2 hidden: 4 context: NO_CONTEXT"}),
            27 + 16 + 108 + 96 + 40);
}

}  // namespace
}  // namespace regard
