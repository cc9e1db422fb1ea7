#include "autodiff/recurrent/lstm.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/recurrent/lstm_cell.h"
#include "autodiff/recurrent/recurrent_pass.h"

namespace regard {

namespace {

// `extra` is tanh of the cell state after the step.
struct LstmCell {
  static constexpr int kGates = 4;
  static constexpr int kStates = 2;

  int gates_of_state() const { return kGates; }

  template <typename T>
  static LstmRow<T> Row(const RecurrentPass<T>& pass, int64_t step,
                        int64_t row) {
    return {pass.activation(step, row), pass.state(1, step, row),
            pass.next_state(1, step, row), pass.extra_row(step, row)};
  }

  template <typename T>
  void Forward(const RecurrentPass<T>& pass, int64_t step,
               const ForwardStep<T>& data) const {
    const int64_t w = pass.width;
    const int64_t live = pass.live(step);
    Gemm<T>({pass.state(0, step, 0), live, w}, data.of_state,
            {data.product, live, 4 * w});
    for (int64_t row = 0; row < live; ++row) {
      LstmForward(w, pass.x_row(step, row), data.product + row * 4 * w,
                  pass.bias_data(), Row(pass, step, row),
                  pass.next_state(0, step, row));
    }
  }

  template <typename T>
  void Backward(const RecurrentPass<T>& pass, int64_t step,
                const BackwardStep<T>& data) const {
    const int64_t w = pass.width;
    const int64_t live = pass.live(step);
    const auto [d_state, d_cell] = data.d_states;
    for (int64_t row = 0; row < live; ++row) {
      T* const d_gates = data.d_product + row * 4 * w;
      const int64_t position = pass.steps.position(row, step);
      T* const d_row = d_state + row * w;
      if (data.d_sequence != nullptr) {
        const T* const d_out = data.d_sequence + position * w;
        for (int64_t i = 0; i < w; ++i) d_row[i] += d_out[i];
      }
      LstmBackward(w, Row(pass, step, row), d_row, d_cell + row * w, d_gates);
      // All of the state's gradient goes through the gates.
      std::fill_n(d_row, w, T(0));
      if (data.d_x != nullptr) {
        AddOrAssign(data.accumulate, 4 * w, data.d_x + position * 4 * w,
                    [=](int64_t i) { return d_gates[i]; });
      }
    }
    Gemm<T>({data.d_product, live, 4 * w}, pass.of_state().matrix(),
            {d_state, live, w}, GemmMode::kAdd);
  }
};

}  // namespace

template <typename T>
SequenceOutputs<T> LstmSequence(const SequenceInputs<T>& inputs) {
  return RunSequence("LstmSequence", LstmCell(), inputs);
}

REGARD_INSTANTIATE_FUNCTION(LstmSequence);

}  // namespace regard
