// Tests the positions of a decoder's queries. Each step is a position, and the
// beams of a step are alternatives for this position.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "attention/scoring/dot.pb.h"
#include "attention/scoring_kit.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {
namespace {

// The scores are -30 * |query position - key position|, so that a query attends
// to the key at its own position.
template <typename T>
class Near : public ScoringFunction<T> {
 public:
  using Options = DotScore;
  static constexpr bool kPositionAware = true;

  Near(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Shape shape = ScoreShape(in);
    Var<T> scores = forward.tape().Constant(shape);
    for (int64_t i = 0; i < scores.size(); ++i) {
      const int64_t query = i / shape[3] % shape[2];
      const int64_t distance = in.positions.Offset(query) - i % shape[3];
      scores.data()[i] = T(-30) * static_cast<T>(std::abs(distance));
    }
    return scores;
  }
};

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

class DecoderPositionsTest : public ::testing::Test {
 protected:
  DecoderPositionsTest() : forward_(tape_, Finalize(), nullptr) {
    forward_.BeginStep();
    const std::vector<int32_t> ids = {4, 5, 6, 4, 3};
    const std::vector<int32_t> lengths = {5};
    state_.emplace(model_.decoder->Begin(
        forward_, model_.encoder->Encode(forward_, ids, lengths)));
  }

  ParameterStore<double>& Finalize() {
    AttentionRegistry scorers;
    scorers.Add<Near>("near");
    model_ = MakeModel<double>(
        Parse<EncoderDecoderConfig>("encoder { embedding: 3 hidden: 4 } "
                                    "decoder { embedding: 3 hidden: 4 } "
                                    "attention { dot {} }"),
        scorers, {.source = 8, .target = 8}, store_.Root());
    store_.Finalize(/*seed=*/1);
    return store_;
  }

  // Advances by one step, with one row per word. Returns the attention weights
  // of the step.
  Var<double> Step(const std::vector<int32_t>& words) {
    CapturingHook<double> hook("*attention/weights");
    forward_.set_hook(&hook);
    model_.decoder->Advance(forward_, words, {}, &*state_);
    forward_.set_hook(nullptr);
    return hook["*"];
  }

  ParameterStore<double> store_;
  EncoderDecoder<double> model_;
  Tape<double> tape_;
  Forward<double> forward_;
  std::optional<DecoderState<double>> state_;
};

TEST_F(DecoderPositionsTest, AStepIsAPosition) {
  for (int64_t t = 0; t < 4; ++t) {
    const Var<double> weights = Step({5});
    EXPECT_GT(weights.data()[t], 0.99) << "step " << t;
  }
}

TEST_F(DecoderPositionsTest, BeamsAreAlternativesAtOnePosition) {
  Step({5});
  // The source gets three rows.
  Arena arena;
  DecoderStateStore<double> cache(*state_, {.rows = 3, .vocabulary = 8}, arena);
  cache.Gather(cache.View(tape_), {0, 0, 0}, 3);
  state_.emplace(cache.View(tape_));
  const Var<double> weights = Step({4, 5, 6});
  for (int64_t beam = 0; beam < 3; ++beam) {
    EXPECT_GT(weights.data()[beam * 5 + 1], 0.99) << "beam " << beam;
  }
}

}  // namespace
}  // namespace regard
