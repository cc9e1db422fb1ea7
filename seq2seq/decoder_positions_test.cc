// Where a decoder's queries stand: a step is a position, and the beams of a
// step are alternatives there.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "attention/scoring/dot.pb.h"
#include "attention/scoring_kit.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/seq2seq_model.h"

namespace regard {
namespace {

// -30 |query position - key position|: a query attends to the key at its own
// position.
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
    source_ = model_->Encode(forward_, ids, lengths, &state_);
  }

  ParameterStore<double>& Finalize() {
    ScorerRegistry scorers;
    scorers.Add<Near>("near");
    model_ = std::make_unique<Seq2SeqModel<double>>(
        Parse<Encoder>("embedding: 3 hidden: 4"),
        Parse<Decoder>("embedding: 3 hidden: 4"), Parse<Attention>("dot {}"),
        scorers, Seq2SeqModel<double>::Widths{8, 8}, store_.Root());
    store_.Finalize(/*seed=*/1);
    return store_;
  }

  // A step of as many rows as `words`; returns its weights.
  Var<double> Step(const std::vector<int32_t>& words) {
    const auto step = model_->Advance(
        forward_, source_, state_,
        model_->Embed(forward_, words, {static_cast<int64_t>(words.size())}));
    state_ = step.state;
    return step.weights;
  }

  ParameterStore<double> store_;
  std::unique_ptr<Seq2SeqModel<double>> model_;
  Tape<double> tape_;
  Forward<double> forward_;
  EncodedSource<double> source_;
  DecoderState<double> state_;
};

TEST_F(DecoderPositionsTest, AStepIsAPosition) {
  for (int64_t t = 0; t < 4; ++t) {
    const Var<double> weights = Step({5});
    EXPECT_GT(weights.data()[t], 0.99) << "step " << t;
  }
}

TEST_F(DecoderPositionsTest, BeamsAreAlternativesAtOnePosition) {
  Step({5});
  // Three rows of one source.
  for (auto& layer : state_.recurrent) {
    Var<double>& hidden = layer[0];
    if (!hidden.has_value()) continue;
    std::vector<double> rows;
    for (int i = 0; i < 3; ++i) {
      rows.insert(rows.end(), hidden.span().begin(), hidden.span().end());
    }
    hidden = tape_.Constant({3, hidden.cols()}, rows);
  }
  const Var<double> weights = Step({4, 5, 6});
  for (int64_t beam = 0; beam < 3; ++beam) {
    EXPECT_GT(weights.data()[beam * 5 + 1], 0.99) << "beam " << beam;
  }
}

}  // namespace
}  // namespace regard
