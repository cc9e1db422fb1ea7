#include "autodiff/ops/lstm.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/lstm_cell.h"
#include "autodiff/ops/recurrent_pass.h"

namespace regard {

namespace {

// `extra` is tanh of the cell state after the step.
struct LstmCell {
  static constexpr int kGates = 4;
  static constexpr int kStates = 2;

  int gates_of_state() const { return kGates; }

  template <typename T>
  static LstmRow<T> Row(const RecurrentPass<T>& pass, int64_t step, int64_t b) {
    return {pass.activation(step, b), pass.state(1, step, b),
            pass.state(1, step + 1, b), pass.extra_row(step, b)};
  }

  template <typename T>
  void Forward(const RecurrentPass<T>& pass, int64_t step,
               const ForwardStep<T>& data) const {
    const int64_t w = pass.width;
    Gemm<T>({pass.state(0, step, 0), pass.batch(), w}, data.of_state,
            {data.product, pass.batch(), 4 * w});
    for (int64_t b = 0; b < pass.batch(); ++b) {
      if (!pass.steps.active(b, step)) continue;
      LstmForward(w, pass.x_row(step, b), data.product + b * 4 * w,
                  pass.bias_data(), Row(pass, step, b),
                  pass.state(0, step + 1, b));
    }
  }

  template <typename T>
  void Backward(const RecurrentPass<T>& pass, int64_t step,
                const BackwardStep<T>& data) const {
    const int64_t w = pass.width;
    const auto [d_state, d_cell] = data.d_states;
    for (int64_t b = 0; b < pass.batch(); ++b) {
      T* const d_gates = data.d_product + b * 4 * w;
      if (!pass.steps.active(b, step)) {
        std::fill_n(d_gates, 4 * w, T(0));
        continue;
      }
      const int64_t position = pass.steps.row(b, step);
      T* const d_row = d_state + b * w;
      if (data.d_sequence != nullptr) {
        const T* const d_out = data.d_sequence + position * w;
        for (int64_t i = 0; i < w; ++i) d_row[i] += d_out[i];
      }
      LstmBackward(w, Row(pass, step, b), d_row, d_cell + b * w, d_gates);
      // All of the state's gradient goes through the gates.
      std::fill_n(d_row, w, T(0));
      if (data.d_x != nullptr) {
        AddOrAssign(d_gates, 4 * w, data.accumulate,
                    data.d_x + position * 4 * w);
      }
    }
    Gemm<T>({data.d_product, pass.batch(), 4 * w}, pass.of_state().matrix(),
            {d_state, pass.batch(), w}, GemmMode::kAdd);
  }
};

}  // namespace

template <typename T>
SequenceOutputs<T> LstmSequence(const SequenceInputs<T>& inputs) {
  return RunSequence("LstmSequence", LstmCell(), inputs);
}

template SequenceOutputs<float> LstmSequence(const SequenceInputs<float>&);
template SequenceOutputs<double> LstmSequence(const SequenceInputs<double>&);

}  // namespace regard
