#include "autodiff/ops/gru.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/arena.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/gru_cell.h"
#include "autodiff/ops/ragged_steps.h"
#include "autodiff/ops/recurrent_rows.h"
#include "autodiff/ops/step_weight.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// What the backward pass needs of the forward pass; time-major, so that a step
// is one block and all steps are one matrix. Where nothing is recorded, all
// steps share one block.
template <typename T>
struct GruTrace {
  T* states;      // [steps + 1, batch, width]: before each step, and at the end
  T* gates;       // [steps, batch, 3 width]: r, z, n
  T* candidates;  // [steps, batch, width]: W_n s + b_n, or r * s (reset_before)
  int64_t width;
  int64_t rows;  // from one step's block to the next; 0 where they share it

  T* state(int64_t step, int64_t b) const {
    return states + (step * rows + b) * width;
  }
  T* gate(int64_t step, int64_t b) const {
    return gates + (step * rows + b) * 3 * width;
  }
  T* candidate(int64_t step, int64_t b) const {
    return candidates + (step * rows + b) * width;
  }
};

template <typename T>
void CheckShapes(const GruInputs<T>& in) {
  const Shape& x = in.projected.shape();
  REGARD_CHECK(x.rank() == 3 && x.cols() % 3 == 0) << "projected inputs " << x;
  const int64_t width = x.cols() / 3;
  REGARD_CHECK_EQ(in.weight_hh.shape(), Shape({3 * width, width}));
  REGARD_CHECK_EQ(in.initial_state.shape(), Shape({x[0], width}));
  REGARD_CHECK_EQ(in.bias_hh.has_value(), in.form == GruForm::kResetAfter)
      << "a second bias belongs to reset_after alone";
  if (in.bias_hh.has_value()) {
    REGARD_CHECK_EQ(in.bias_hh.shape(), Shape({3 * width}));
  }
}

template <typename T>
class GruPass {
 public:
  GruPass(const GruInputs<T>& in, const RaggedSteps& steps,
          const GruTrace<T>& trace)
      : x_(in.projected),
        weight_(in.weight_hh),
        bias_(in.bias_hh),
        initial_(in.initial_state),
        steps_(steps),
        trace_(trace),
        after_(in.form == GruForm::kResetAfter),
        step_weight_(in.step_weight) {}

  void Forward(Var<T> sequence, Var<T> final_state) const;
  void Backward(const T* d_sequence, const T* d_final) const;

 private:
  void ForwardStep(int64_t step, const ConstMatrix<T>& weight, T* product,
                   T* sequence) const;
  // Sets d_gates of the recurrent product, of the step; d_state is in-out.
  void BackwardStep(int64_t step, const T* d_sequence, T* d_state, T* d_next,
                    T* d_product, T* d_candidate, T* d_x,
                    bool accumulate) const;
  void AddWeightGradients(const T* d_product) const;

  int64_t width() const { return trace_.width; }
  int64_t batch() const { return steps_.batch(); }

  Var<T> x_, weight_, bias_, initial_;
  RaggedSteps steps_;
  GruTrace<T> trace_;
  bool after_;
  StepWeight<T>* step_weight_;
};

template <typename T>
void GruPass<T>::Forward(Var<T> sequence, Var<T> final_state) const {
  const int64_t w = width();
  ScratchScope<T> scratch(x_.tape());
  const ConstMatrix<T> weight =
      step_weight_ != nullptr
          ? step_weight_->transposed()
          : TransposedWeight(weight_.data(), 3 * w, w, steps_.steps(), scratch);
  T* const product = scratch.New(batch() * 3 * w);
  std::copy_n(initial_.data(), batch() * w, trace_.state(0, 0));
  ClearPadding(steps_, w, sequence.data());
  const int64_t steps = steps_.steps();
  for (int64_t step = 0; step < steps; ++step) {
    ForwardStep(step, weight, product, sequence.data());
  }
  std::copy_n(trace_.state(steps, 0), batch() * w, final_state.data());
}

template <typename T>
void GruPass<T>::ForwardStep(int64_t step, const ConstMatrix<T>& weight,
                             T* product, T* sequence) const {
  const int64_t w = width();
  const T* const bias = after_ ? bias_.data() : nullptr;
  const ConstMatrix<T> states(trace_.state(step, 0), batch(), w);
  Gemm<T>(states, Columns(weight, 0, after_ ? 3 * w : 2 * w),
          {product, batch(), after_ ? 3 * w : 2 * w, 3 * w});
  for (int64_t b = 0; b < batch(); ++b) {
    T* const candidate = trace_.candidate(step, b);
    if (!steps_.active(b, step)) {
      std::fill_n(candidate, w, T(0));
      continue;
    }
    T* const row = product + b * 3 * w;
    T* const gates = trace_.gate(step, b);
    GruResetAndUpdate(w, x_.data() + steps_.row(b, step) * 3 * w, row, bias,
                      gates);
    if (after_) {
      for (int64_t i = 0; i < w; ++i) {
        candidate[i] = row[2 * w + i] + bias[2 * w + i];
        row[2 * w + i] = gates[i] * candidate[i];
      }
    } else {
      const T* const state = trace_.state(step, b);
      for (int64_t i = 0; i < w; ++i) candidate[i] = gates[i] * state[i];
    }
  }
  if (!after_) {
    Gemm<T>({trace_.candidate(step, 0), batch(), w}, Columns(weight, 2 * w, w),
            {product + 2 * w, batch(), w, 3 * w});
  }
  for (int64_t b = 0; b < batch(); ++b) {
    T* const state = trace_.state(step, b);
    T* const next = trace_.state(step + 1, b);
    if (!steps_.active(b, step)) {
      if (next != state) std::copy_n(state, w, next);
      continue;
    }
    const int64_t position = steps_.row(b, step);
    GruCandidate(w, x_.data() + position * 3 * w, product + b * 3 * w + 2 * w,
                 state, trace_.gate(step, b), next);
    std::copy_n(next, w, sequence + position * w);
  }
}

template <typename T>
void GruPass<T>::Backward(const T* d_sequence, const T* d_final) const {
  const int64_t w = width();
  const int64_t steps = steps_.steps();
  ScratchScope<T> scratch(x_.tape());
  // A step weight reads it after all steps.
  Arena& arena =
      step_weight_ != nullptr ? x_.tape().arena() : x_.tape().scratch();
  T* const d_product = arena.New<T>(steps * batch() * 3 * w);
  T* const d_state = scratch.New(batch() * w);
  T* const d_next = scratch.New(batch() * w);
  T* const d_candidate = scratch.New(batch() * w);
  T* d_x = nullptr;
  bool accumulate = false;
  if (auto d = x_.grad_ref()) {
    accumulate = d.Begin();
    d_x = d.data();
    if (!accumulate) ClearPadding(steps_, 3 * w, d_x);
  }
  if (d_final != nullptr) {
    std::copy_n(d_final, batch() * w, d_state);
  } else {
    std::fill_n(d_state, batch() * w, T(0));
  }
  for (int64_t step = steps - 1; step >= 0; --step) {
    BackwardStep(step, d_sequence, d_state, d_next,
                 d_product + step * batch() * 3 * w, d_candidate, d_x,
                 accumulate);
  }
  if (auto d = initial_.grad_ref()) {
    d.AddEach([=](int64_t i) { return d_state[i]; });
  }
  AddWeightGradients(d_product);
}

template <typename T>
void GruPass<T>::BackwardStep(int64_t step, const T* d_sequence, T* d_state,
                              T* d_next, T* d_product, T* d_candidate, T* d_x,
                              bool accumulate) const {
  const int64_t w = width();
  const T* const weight = weight_.data();
  for (int64_t b = 0; b < batch(); ++b) {
    T* const d_gates = d_product + b * 3 * w;
    if (!steps_.active(b, step)) {
      std::fill_n(d_gates, 3 * w, T(0));
      continue;
    }
    T* const d_row = d_next + b * w;
    T* const d_state_row = d_state + b * w;
    if (d_sequence == nullptr) {
      std::copy_n(d_state_row, w, d_row);
    } else {
      const T* const d_out = d_sequence + steps_.row(b, step) * w;
      for (int64_t i = 0; i < w; ++i) d_row[i] = d_state_row[i] + d_out[i];
    }
    GruCandidateGradient(w, trace_.gate(step, b), trace_.state(step, b), d_row,
                         d_gates, d_state_row);
  }
  if (!after_) {
    // The gradient of r * s.
    Gemm<T>({d_product + 2 * w, batch(), w, 3 * w}, {weight + 2 * w * w, w, w},
            {d_candidate, batch(), w});
  }
  for (int64_t b = 0; b < batch(); ++b) {
    if (!steps_.active(b, step)) continue;
    const T* const gates = trace_.gate(step, b);
    T* const d_gates = d_product + b * 3 * w;
    T* const d_reset = d_next + b * w;
    const T* const d_part = after_ ? d_gates + 2 * w : d_candidate + b * w;
    const T* const other =
        after_ ? trace_.candidate(step, b) : trace_.state(step, b);
    for (int64_t i = 0; i < w; ++i) d_reset[i] = d_part[i] * other[i];
    GruResetGradient(w, gates, d_reset, d_gates);
    if (d_x != nullptr) {
      AddOrAssign(d_gates, 3 * w, accumulate,
                  d_x + steps_.row(b, step) * 3 * w);
    }
    if (after_) {
      for (int64_t i = 0; i < w; ++i) d_gates[2 * w + i] *= gates[i];
    } else {
      T* const d_state_row = d_state + b * w;
      for (int64_t i = 0; i < w; ++i) d_state_row[i] += d_part[i] * gates[i];
    }
  }
  const int64_t direct = after_ ? 3 * w : 2 * w;
  Gemm<T>({d_product, batch(), direct, 3 * w}, {weight, direct, w},
          {d_state, batch(), w}, GemmMode::kAdd);
}

template <typename T>
void GruPass<T>::AddWeightGradients(const T* d_product) const {
  const int64_t w = width();
  const int64_t rows = steps_.steps() * batch();
  const int64_t direct = after_ ? 3 * w : 2 * w;
  const ConstMatrix<T> of_states(d_product, rows, direct, 3 * w);
  const ConstMatrix<T> of_candidates(d_product + 2 * w, rows, w, 3 * w);
  if (step_weight_ != nullptr) {
    step_weight_->AddGradient(0, of_states, trace_.states);
    if (!after_) {
      step_weight_->AddGradient(direct, of_candidates, trace_.candidates);
    }
  } else if (auto d = weight_.grad_ref()) {
    const GemmMode mode = d.Begin() ? GemmMode::kAdd : GemmMode::kAssign;
    Gemm<T>(of_states.Transposed(), {trace_.states, rows, w},
            {d.data(), direct, w}, mode);
    if (!after_) {
      Gemm<T>(of_candidates.Transposed(), {trace_.candidates, rows, w},
              {d.data() + direct * w, w, w}, mode);
    }
  }
  if (!after_) return;
  if (auto d = bias_.grad_ref()) {
    AddColumnSums(d_product, rows, 3 * w, d.BeginPartial());
  }
}

}  // namespace

template <typename T>
GruOutputs<T> GruSequence(const GruInputs<T>& inputs) {
  CheckShapes(inputs);
  Tape<T>& tape = inputs.projected.tape();
  const int64_t batch = inputs.projected.dim(0);
  const int64_t time = inputs.projected.dim(1);
  const int64_t width = inputs.projected.cols() / 3;
  const bool needs_grad =
      inputs.projected.needs_grad() || inputs.weight_hh.needs_grad() ||
      inputs.initial_state.needs_grad() ||
      (inputs.bias_hh.has_value() && inputs.bias_hh.needs_grad());
  const GruOutputs<T> out = {tape.New({batch, time, width}, needs_grad),
                             tape.New({batch, width}, needs_grad)};
  Arena& arena = tape.arena();
  const RaggedSteps steps(batch, time, inputs.lengths, inputs.reverse, arena);
  const bool recorded = out.sequence.needs_grad();
  const int64_t blocks = recorded ? steps.steps() : 1;
  const GruTrace<T> trace = {arena.New<T>((blocks + 1) * batch * width),
                             arena.New<T>(blocks * batch * 3 * width),
                             arena.New<T>(blocks * batch * width), width,
                             recorded ? batch : 0};
  const GruPass<T> pass(inputs, steps, trace);
  pass.Forward(out.sequence, out.final_state);
  tape.RecordOutputs("GruSequence", {out.sequence, out.final_state}, [=] {
    pass.Backward(out.sequence.grad_data(), out.final_state.grad_data());
  });
  return out;
}

template <typename T>
Var<T> GruStep(Var<T> projected, Var<T> weight_hh, Var<T> bias_hh, Var<T> state,
               GruForm form) {
  REGARD_CHECK_EQ(projected.shape().rank(), 2) << projected.shape();
  GruInputs<T> inputs;
  inputs.projected =
      projected.WithShape({projected.dim(0), 1, projected.dim(1)});
  inputs.weight_hh = weight_hh;
  inputs.bias_hh = bias_hh;
  inputs.initial_state = state;
  inputs.form = form;
  return GruSequence(inputs).final_state;
}

template GruOutputs<float> GruSequence(const GruInputs<float>&);
template GruOutputs<double> GruSequence(const GruInputs<double>&);
template Var<float> GruStep(Var<float>, Var<float>, Var<float>, Var<float>,
                            GruForm);
template Var<double> GruStep(Var<double>, Var<double>, Var<double>, Var<double>,
                             GruForm);

}  // namespace regard
