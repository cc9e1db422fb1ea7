#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/recurrent/recurrent_pass.h"

namespace regard {

namespace {

// The data of one step of one sequence. All arrays except `gates` are [width].
template <typename T>
struct LstmRow {
  T* gates;      // [4 * width]
  T* cell;       // c
  T* next_cell;  // c'
  T* tanh_cell;  // tanh(c')
};

// Sets gates, next_cell, tanh_cell and next = h'. `product` is W h. bias may be
// null.
template <typename T>
void LstmForward(int64_t width, const T* x, const T* product, const T* bias,
                 const LstmRow<T>& row, T* next) {
  T* const gates = row.gates;
  if (bias == nullptr) {
    for (int64_t i = 0; i < 4 * width; ++i) gates[i] = x[i] + product[i];
  } else {
    for (int64_t i = 0; i < 4 * width; ++i) {
      gates[i] = x[i] + (product[i] + bias[i]);
    }
  }
  const T* const forget = gates + width;
  const T* const candidate = gates + 2 * width;
  const T* const output = gates + 3 * width;
  Sigmoid(gates, gates, 2 * width);
  Tanh(candidate, gates + 2 * width, width);
  Sigmoid(output, gates + 3 * width, width);
  for (int64_t i = 0; i < width; ++i) {
    row.next_cell[i] = forget[i] * row.cell[i] + gates[i] * candidate[i];
  }
  Tanh(row.next_cell, row.tanh_cell, width);
  for (int64_t i = 0; i < width; ++i) next[i] = output[i] * row.tanh_cell[i];
}

// Computes d_gates, the gradients before the activations, from d_next and
// d_cell, the gradient of c'. Replaces d_cell with the gradient of c. Does not
// read row.next_cell.
template <typename T>
void LstmBackward(int64_t width, const LstmRow<T>& row, const T* d_next,
                  T* d_cell, T* d_gates) {
  const T* const gates = row.gates;
  for (int64_t k = 0; k < width; ++k) {
    const T i = gates[k];
    const T f = gates[width + k];
    const T g = gates[2 * width + k];
    const T o = gates[3 * width + k];
    const T t = row.tanh_cell[k];
    const T d = d_cell[k] + d_next[k] * o * (T(1) - t * t);
    d_gates[k] = d * g * (i * (T(1) - i));
    d_gates[width + k] = d * row.cell[k] * (f * (T(1) - f));
    d_gates[2 * width + k] = d * i * (T(1) - g * g);
    d_gates[3 * width + k] = d_next[k] * t * (o * (T(1) - o));
    d_cell[k] = d * f;
  }
}

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
            {data.product, live, 4 * w}, GemmMode::kAssign, T(1),
            pass.precision);
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
      // h influences the step only through the gates, so its direct gradient is
      // 0.
      std::fill_n(d_row, w, T(0));
      if (data.d_x != nullptr) {
        AddOrAssign(data.accumulate, 4 * w, data.d_x + position * 4 * w,
                    [=](int64_t i) { return d_gates[i]; });
      }
    }
    Gemm<T>({data.d_product, live, 4 * w}, data.of_state, {d_state, live, w},
            GemmMode::kAdd, T(1), pass.precision);
  }
};

}  // namespace

template <typename T>
RecurrentSequenceOutputs<T> LstmSequence(
    const RecurrentSequenceOperands<T>& inputs) {
  return RunSequence("LstmSequence", LstmCell(), inputs);
}

REGARD_INSTANTIATE_FUNCTION(LstmSequence);

}  // namespace regard
