#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/recurrent/recurrent_pass.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Sets gates[0 .. 2 * w), which are r and z, to sigmoid(x + product + bias).
// bias may be null.
template <typename T>
void GruResetAndUpdate(int64_t width, const T* x, const T* product,
                       const T* bias, T* gates) {
  if (bias == nullptr) {
    for (int64_t i = 0; i < 2 * width; ++i) gates[i] = x[i] + product[i];
  } else {
    for (int64_t i = 0; i < 2 * width; ++i) {
      gates[i] = x[i] + (product[i] + bias[i]);
    }
  }
  Sigmoid(gates, gates, 2 * width);
}

// Sets gates[2 * w .. 3 * w) to n, and `next` to s'. candidate_part is
// W_n (r * s) for kResetBefore, and r * (W_n s + b_n) for kResetAfter.
template <typename T>
void GruCandidate(int64_t width, const T* x, const T* candidate_part,
                  const T* state, T* gates, T* next) {
  const T* const update = gates + width;
  T* const candidate = gates + 2 * width;
  for (int64_t i = 0; i < width; ++i) {
    candidate[i] = x[2 * width + i] + candidate_part[i];
  }
  Tanh(candidate, candidate, width);
  for (int64_t i = 0; i < width; ++i) {
    next[i] = update[i] * state[i] + (T(1) - update[i]) * candidate[i];
  }
}

// Computes d_gates[w .. 3 * w), the gradients of z and n before their
// activations, from d_next. Also sets d_state to z * d_next.
template <typename T>
void GruCandidateGradient(int64_t width, const T* gates, const T* state,
                          const T* d_next, T* d_gates, T* d_state) {
  const T* const update = gates + width;
  const T* const candidate = gates + 2 * width;
  T* const __restrict d_update = d_gates + width;
  T* const __restrict d_candidate = d_gates + 2 * width;
  for (int64_t i = 0; i < width; ++i) {
    const T z = update[i];
    const T n = candidate[i];
    const T d = d_next[i];
    d_update[i] = d * (state[i] - n) * (z * (T(1) - z));
    d_candidate[i] = d * (T(1) - z) * (T(1) - n * n);
    d_state[i] = d * z;
  }
}

// Computes d_gates[0 .. w), the gradient of r before its activation, from
// `d_reset`, the gradient of r.
template <typename T>
void GruResetGradient(int64_t width, const T* gates, const T* d_reset,
                      T* d_gates) {
  for (int64_t i = 0; i < width; ++i) {
    d_gates[i] = d_reset[i] * (gates[i] * (T(1) - gates[i]));
  }
}

// `extra` is W_n h + b_n (kResetAfter) or r * h (kResetBefore).
struct GruCell {
  static constexpr int kGates = 3;
  static constexpr int kStates = 1;

  GruForm form;

  bool after() const { return form == GruForm::kResetAfter; }
  int gates_of_state() const { return after() ? 3 : 2; }

  template <typename T>
  void Forward(const RecurrentPass<T>& pass, int64_t step,
               const ForwardStep<T>& data) const;
  template <typename T>
  void Backward(const RecurrentPass<T>& pass, int64_t step,
                const BackwardStep<T>& data) const;
};

template <typename T>
void GruCell::Forward(const RecurrentPass<T>& pass, int64_t step,
                      const ForwardStep<T>& data) const {
  const int64_t w = pass.width;
  const int64_t live = pass.live(step);
  const T* const bias = pass.bias_data();
  Gemm<T>({pass.state(0, step, 0), live, w}, data.of_state,
          {data.product, live, data.of_state.cols, 3 * w}, GemmMode::kAssign,
          T(1), pass.precision);
  for (int64_t row = 0; row < live; ++row) {
    T* const extra = pass.extra_row(step, row);
    T* const product = data.product + row * 3 * w;
    T* const gates = pass.activation(step, row);
    GruResetAndUpdate(w, pass.x_row(step, row), product, bias, gates);
    if (after()) {
      for (int64_t i = 0; i < w; ++i) {
        extra[i] = product[2 * w + i] + bias[2 * w + i];
        product[2 * w + i] = gates[i] * extra[i];
      }
    } else {
      const T* const state = pass.state(0, step, row);
      for (int64_t i = 0; i < w; ++i) extra[i] = gates[i] * state[i];
    }
  }
  if (!after()) {
    Gemm<T>({pass.extra_row(step, 0), live, w}, data.of_extra,
            {data.product + 2 * w, live, w, 3 * w}, GemmMode::kAssign, T(1),
            pass.precision);
  }
  for (int64_t row = 0; row < live; ++row) {
    GruCandidate(w, pass.x_row(step, row), data.product + row * 3 * w + 2 * w,
                 pass.state(0, step, row), pass.activation(step, row),
                 pass.next_state(0, step, row));
  }
}

template <typename T>
void GruCell::Backward(const RecurrentPass<T>& pass, int64_t step,
                       const BackwardStep<T>& data) const {
  const int64_t w = pass.width;
  const int64_t live = pass.live(step);
  T* const d_state = data.d_states[0];
  const auto [d_next, d_extra] = data.scratch;
  for (int64_t row = 0; row < live; ++row) {
    T* const d_gates = data.d_product + row * 3 * w;
    T* const d_row = d_next + row * w;
    T* const d_state_row = d_state + row * w;
    if (data.d_sequence == nullptr) {
      std::copy_n(d_state_row, w, d_row);
    } else {
      const T* const d_out =
          data.d_sequence + pass.steps.position(row, step) * w;
      for (int64_t i = 0; i < w; ++i) d_row[i] = d_state_row[i] + d_out[i];
    }
    GruCandidateGradient(w, pass.activation(step, row),
                         pass.state(0, step, row), d_row, d_gates, d_state_row);
  }
  if (!after()) {
    Gemm<T>({data.d_product + 2 * w, live, w, 3 * w}, data.of_extra,
            {d_extra, live, w}, GemmMode::kAssign, T(1), pass.precision);
  }
  for (int64_t row = 0; row < live; ++row) {
    const T* const gates = pass.activation(step, row);
    T* const d_gates = data.d_product + row * 3 * w;
    T* const d_reset = d_next + row * w;
    const T* const d_part = after() ? d_gates + 2 * w : d_extra + row * w;
    const T* const other =
        after() ? pass.extra_row(step, row) : pass.state(0, step, row);
    for (int64_t i = 0; i < w; ++i) d_reset[i] = d_part[i] * other[i];
    GruResetGradient(w, gates, d_reset, d_gates);
    if (data.d_x != nullptr) {
      AddOrAssign(data.accumulate, 3 * w,
                  data.d_x + pass.steps.position(row, step) * 3 * w,
                  [=](int64_t i) { return d_gates[i]; });
    }
    if (after()) {
      for (int64_t i = 0; i < w; ++i) d_gates[2 * w + i] *= gates[i];
    } else {
      T* const d_state_row = d_state + row * w;
      for (int64_t i = 0; i < w; ++i) d_state_row[i] += d_part[i] * gates[i];
    }
  }
  Gemm<T>({data.d_product, live, data.of_state.rows, 3 * w}, data.of_state,
          {d_state, live, w}, GemmMode::kAdd, T(1), pass.precision);
}

}  // namespace

template <typename T>
RecurrentSequenceOutputs<T> GruSequence(
    const RecurrentSequenceOperands<T>& inputs, GruForm form) {
  REGARD_CHECK_EQ(inputs.bias_hh.has_value(), form == GruForm::kResetAfter)
      << "GruSequence has a bias_hh if and only if it is reset_after";
  return RunSequence("GruSequence", GruCell{form}, inputs);
}

REGARD_INSTANTIATE_FUNCTION(GruSequence);

}  // namespace regard
