// Tests a decoder's step against the published formulas.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/types/span.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/recurrent.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/recurrent/recurrent_decoder.h"
#include "seq2seq/testing/test_model.h"

namespace regard {
namespace {

using Matrix = Eigen::MatrixXd;

using RowMajor =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Returns a value as a matrix [rows, cols].
Matrix MatrixOf(const Var<double>& x) {
  return Eigen::Map<const RowMajor>(x.data(), x.rows(), x.cols());
}

// Returns a parameter as a matrix or a column.
Matrix MatrixOf(TestModel<double>& model, const char* name) {
  const Shape& shape = model.shape(name);
  return Eigen::Map<const RowMajor>(model.value(name).data(), shape.rows(),
                                    shape.cols());
}
Eigen::VectorXd VectorOf(TestModel<double>& model, const char* name) {
  const absl::Span<const double> values = model.value(name);
  return Eigen::Map<const Eigen::VectorXd>(values.data(),
                                           static_cast<int64_t>(values.size()));
}

Matrix SigmoidOf(const Matrix& x) {
  return (1 + (-x.array()).exp()).inverse().matrix();
}

// Computes one step of a decoder whose context enters every gate, for one
// source of 4 ids. The decoder reads the word `kWord`.
class PublishedDecoderTest : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr int kHidden = 4;
  static constexpr int32_t kWord = 6;

  PublishedDecoderTest()
      : encoder_(std::string("embedding: 3 hidden: 4 reset_gate: ") +
                 GetParam()),
        decoder_(std::string("embedding: 2 hidden: 4 reset_gate: ") +
                 GetParam()),
        model_({encoder_.c_str(), "additive { width: 5 }", decoder_.c_str()}),
        forward_(tape_, model_.store(), nullptr) {
    forward_.BeginStep();
    const std::vector<int32_t> ids = {4, 5, 6, 3};
    const std::vector<int32_t> lengths = {4};
    DecoderState<double> state = model_.Begin(forward_, ids, lengths);
    values_ = MatrixOf(state[RecurrentDecoder<double>::kValues]);
    s_ = Hidden(state);
    CapturingHook<double> hook("*attention/weights");
    forward_.set_hook(&hook);
    model_->decoder->Advance(forward_, {kWord}, {}, &state);
    forward_.set_hook(nullptr);
    alignment_ = hook["*"];
    after_ = Hidden(state);
    y_ = MatrixOf(model_, "decoder.embedding.weight").row(kWord).transpose();
    // The weights are softmax_t(w_v . tanh(W_q s + W_k h_t)), and the context
    // is the weighted mean of h_t.
    const Matrix w_q = MatrixOf(model_, "attention.w_q");
    const Matrix w_k = MatrixOf(model_, "attention.w_k");
    const Eigen::VectorXd w_v = VectorOf(model_, "attention.w_v");
    weights_.resize(4);
    for (int t = 0; t < 4; ++t) {
      weights_(t) = std::exp(
          w_v.dot(((w_q * s_ + w_k * values_.row(t).transpose()).array().tanh())
                      .matrix()
                      .col(0)));
    }
    weights_ /= weights_.sum();
    c_ = values_.transpose() * weights_;
  }

  // Returns the hidden state as a column.
  static Matrix Hidden(const DecoderState<double>& state) {
    return MatrixOf(state[RecurrentDecoder<double>::StateSlot(0, 0)])
        .transpose();
  }

  void ExpectState(const Matrix& expected) const {
    for (int i = 0; i < kHidden; ++i) {
      EXPECT_NEAR(after_(i, 0), expected(i, 0), 1e-12);
    }
  }

  std::string encoder_;
  std::string decoder_;
  TestModel<double> model_;
  Tape<double> tape_;
  Forward<double> forward_;
  Var<double> alignment_;
  Matrix values_;  // [time, hidden]
  // The state before the step, the state after the step, and the embedding of
  // the word, as columns.
  Matrix s_, after_, y_;
  Eigen::VectorXd weights_;
  Matrix c_;
};

INSTANTIATE_TEST_SUITE_P(ResetGates, PublishedDecoderTest,
                         ::testing::Values("RESET_BEFORE", "RESET_AFTER"));

TEST_P(PublishedDecoderTest, EveryGateSeesWordStateAndContext) {
  for (int t = 0; t < 4; ++t) {
    EXPECT_NEAR(alignment_.at(0, t), weights_(t), 1e-12);
  }
  // The gates are stacked as r, z, n, and the inputs as c, y.
  const Matrix input = MatrixOf(model_, "decoder.rnn.0.weight_ih");
  const Matrix hidden = MatrixOf(model_, "decoder.rnn.0.weight_hh");
  const Eigen::VectorXd bias = VectorOf(model_, "decoder.rnn.0.bias_ih");
  const auto gate = [&](int g) -> Matrix {
    const Matrix rows = input.middleRows(g * kHidden, kHidden);
    return rows.leftCols(kHidden) * c_ + rows.rightCols(2) * y_ +
           bias.segment(g * kHidden, kHidden);
  };
  const auto recurrent = [&](int g, const Matrix& s) -> Matrix {
    return hidden.middleRows(g * kHidden, kHidden) * s;
  };
  Eigen::VectorXd hidden_bias = Eigen::VectorXd::Zero(3 * kHidden);
  const bool before = std::string(GetParam()) == "RESET_BEFORE";
  if (!before) hidden_bias = VectorOf(model_, "decoder.rnn.0.bias_hh");
  const Matrix r =
      SigmoidOf(gate(0) + recurrent(0, s_) + hidden_bias.segment(0, kHidden));
  const Matrix z = SigmoidOf(gate(1) + recurrent(1, s_) +
                             hidden_bias.segment(kHidden, kHidden));
  const Matrix reset =
      before ? recurrent(2, s_.cwiseProduct(r))
             : r.cwiseProduct(recurrent(2, s_) +
                              hidden_bias.segment(2 * kHidden, kHidden));
  const Matrix candidate = (gate(2) + reset).array().tanh();
  ExpectState(z.cwiseProduct(s_) +
              (1 - z.array()).matrix().cwiseProduct(candidate));
}

TEST_P(PublishedDecoderTest, IsThePlainCellOnTheConcatenatedContextAndWord) {
  ParameterStore<double> store;
  const bool before = std::string(GetParam()) == "RESET_BEFORE";
  const Recurrent<double> cell(
      store.Root(),
      {.cell = before ? RecurrentCell::kGruResetBefore : RecurrentCell::kGru,
       .width = kHidden},
      kHidden + 2);
  store.Finalize(0);
  for (const ParameterInfo& info : store.parameters()) {
    const absl::Span<double> from = model_.value("decoder.rnn." + info.name);
    std::copy(from.begin(), from.end(),
              store.value(*store.FindByName(info.name)).begin());
  }
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  std::vector<double> inputs(c_.data(), c_.data() + kHidden);
  inputs.insert(inputs.end(), y_.data(), y_.data() + 2);
  RecurrentState<double> state = cell.ZeroState(forward, 1);
  state[0][0] =
      tape.Constant({1, kHidden}, absl::MakeConstSpan(s_.data(), kHidden));
  const Var<double> projected =
      cell.ProjectInput(forward, tape.Constant({1, kHidden + 2}, inputs), 0,
                        cell.InputBias(forward));
  const Var<double> next = cell.Output(cell.Step(forward, projected, state));
  ExpectState(MatrixOf(next).transpose());
}

TEST(DotAttentionTest, AllStepsAtOnceEqualTheLoop) {
  TestModel<double> model({"embedding: 3 hidden: 4", "dot {}",
                           "embedding: 2 hidden: 4 query: CURRENT_STATE "
                           "readout: ATTENTIONAL"});
  Tape<double> tape;
  Forward<double> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const std::vector<int32_t> ids = {4, 5, 6, 7, 3};
  const std::vector<int32_t> lengths = {5};
  DecoderState<double> state = model.Begin(forward, ids, lengths);
  std::vector<Var<double>> queries, weights, readouts;
  for (const int32_t word : {2, 4, 6, 7}) {
    CapturingHook<double> hook("*attention/weights");
    forward.set_hook(&hook);
    const Var<double> step =
        model->decoder->Advance(forward, {word}, {}, &state);
    queries.push_back(state[RecurrentDecoder<double>::StateSlot(0, 0)]);
    weights.push_back(hook["*"]);
    readouts.push_back(step);
  }
  // The expected contexts are softmax(Q K^T) V, where the keys are also the
  // values.
  const Var<double> q = Concat<double>(queries, 0);
  const Var<double> k =
      state[RecurrentDecoder<double>::kValues].Reshape({5, 4});
  const Var<double> all = Softmax(MatMul(q, k, {.b = true}));
  const Matrix contexts = MatrixOf(MatMul(all, k));
  const Matrix expected =
      ((Matrix(4, 8) << MatrixOf(q), contexts).finished() *
       MatrixOf(model, "decoder.attentional.weight").transpose())
          .array()
          .tanh();
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(all.at(t, i), weights[t].at(0, i), 1e-12);
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(expected(t, i), readouts[t].at(0, i), 1e-12);
    }
  }
}

}  // namespace
}  // namespace regard
