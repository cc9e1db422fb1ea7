#include "autodiff/ops/lstm.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/arena.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/lstm_cell.h"
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
struct LstmTrace {
  T* states;      // [steps + 1, batch, width]: before each step, and at the end
  T* cells;       // the same
  T* gates;       // [steps, batch, 4 width]: i, f, g, o
  T* tanh_cells;  // [steps, batch, width]: of the cell after each step
  int64_t width;
  int64_t rows;  // from one step's block to the next; 0 where they share it

  T* state(int64_t step, int64_t b) const {
    return states + (step * rows + b) * width;
  }
  T* cell(int64_t step, int64_t b) const {
    return cells + (step * rows + b) * width;
  }
  LstmRow<T> row(int64_t step, int64_t b) const {
    const int64_t at = step * rows + b;
    return {gates + at * 4 * width, cell(step, b), cell(step + 1, b),
            tanh_cells + at * width};
  }
};

template <typename T>
void CheckShapes(const LstmInputs<T>& in) {
  const Shape& x = in.projected.shape();
  REGARD_CHECK(x.rank() == 3 && x.cols() % 4 == 0) << "projected inputs " << x;
  const int64_t width = x.cols() / 4;
  REGARD_CHECK_EQ(in.weight_hh.shape(), Shape({4 * width, width}));
  REGARD_CHECK_EQ(in.initial_state.shape(), Shape({x[0], width}));
  REGARD_CHECK_EQ(in.initial_cell.shape(), Shape({x[0], width}));
  if (in.bias_hh.has_value()) {
    REGARD_CHECK_EQ(in.bias_hh.shape(), Shape({4 * width}));
  }
}

template <typename T>
class LstmPass {
 public:
  LstmPass(const LstmInputs<T>& in, const RaggedSteps& steps,
           const LstmTrace<T>& trace)
      : x_(in.projected),
        weight_(in.weight_hh),
        bias_(in.bias_hh),
        initial_state_(in.initial_state),
        initial_cell_(in.initial_cell),
        steps_(steps),
        trace_(trace),
        step_weight_(in.step_weight) {}

  void Forward(const LstmOutputs<T>& out) const;
  void Backward(const LstmOutputs<T>& out) const;

 private:
  void BackwardStep(int64_t step, const T* d_sequence, T* d_state, T* d_cell,
                    T* d_product, T* d_x, bool accumulate) const;

  int64_t batch() const { return steps_.batch(); }

  Var<T> x_, weight_, bias_, initial_state_, initial_cell_;
  RaggedSteps steps_;
  LstmTrace<T> trace_;
  StepWeight<T>* step_weight_;
};

template <typename T>
void LstmPass<T>::Forward(const LstmOutputs<T>& out) const {
  const int64_t w = trace_.width;
  const int64_t steps = steps_.steps();
  ScratchScope<T> scratch(x_.tape());
  const ConstMatrix<T> weight =
      step_weight_ != nullptr
          ? step_weight_->transposed()
          : TransposedWeight(weight_.data(), 4 * w, w, steps, scratch);
  T* const product = scratch.New(batch() * 4 * w);
  const T* const bias = bias_.has_value() ? bias_.data() : nullptr;
  std::copy_n(initial_state_.data(), batch() * w, trace_.state(0, 0));
  std::copy_n(initial_cell_.data(), batch() * w, trace_.cell(0, 0));
  ClearPadding(steps_, w, out.sequence.data());
  for (int64_t step = 0; step < steps; ++step) {
    Gemm<T>({trace_.state(step, 0), batch(), w}, weight,
            {product, batch(), 4 * w});
    for (int64_t b = 0; b < batch(); ++b) {
      T* const next = trace_.state(step + 1, b);
      const LstmRow<T> row = trace_.row(step, b);
      if (!steps_.active(b, step)) {
        if (trace_.rows == 0) continue;
        std::copy_n(trace_.state(step, b), w, next);
        std::copy_n(row.cell, w, row.next_cell);
        continue;
      }
      const int64_t position = steps_.row(b, step);
      LstmForward(w, x_.data() + position * 4 * w, product + b * 4 * w, bias,
                  row, next);
      std::copy_n(next, w, out.sequence.data() + position * w);
    }
  }
  std::copy_n(trace_.state(steps, 0), batch() * w, out.final_state.data());
  std::copy_n(trace_.cell(steps, 0), batch() * w, out.final_cell.data());
}

// A gradient to start from; absent ones are zero.
template <typename T>
void CopyOrClear(const T* from, int64_t n, T* to) {
  if (from != nullptr) {
    std::copy_n(from, n, to);
  } else {
    std::fill_n(to, n, T(0));
  }
}

template <typename T>
void LstmPass<T>::Backward(const LstmOutputs<T>& out) const {
  const int64_t w = trace_.width;
  const int64_t rows = steps_.steps() * batch();
  ScratchScope<T> scratch(x_.tape());
  // A step weight reads it after all steps.
  Arena& arena =
      step_weight_ != nullptr ? x_.tape().arena() : x_.tape().scratch();
  T* const d_product = arena.New<T>(rows * 4 * w);
  T* const d_state = scratch.New(batch() * w);
  T* const d_cell = scratch.New(batch() * w);
  T* d_x = nullptr;
  bool accumulate = false;
  if (auto d = x_.grad_ref()) {
    accumulate = d.Begin();
    d_x = d.data();
    if (!accumulate) ClearPadding(steps_, 4 * w, d_x);
  }
  CopyOrClear(out.final_state.grad_data(), batch() * w, d_state);
  CopyOrClear(out.final_cell.grad_data(), batch() * w, d_cell);
  for (int64_t step = steps_.steps() - 1; step >= 0; --step) {
    BackwardStep(step, out.sequence.grad_data(), d_state, d_cell,
                 d_product + step * batch() * 4 * w, d_x, accumulate);
  }
  if (auto d = initial_state_.grad_ref()) {
    d.AddEach([=](int64_t i) { return d_state[i]; });
  }
  if (auto d = initial_cell_.grad_ref()) {
    d.AddEach([=](int64_t i) { return d_cell[i]; });
  }
  const ConstMatrix<T> of_states(d_product, rows, 4 * w);
  if (step_weight_ != nullptr) {
    step_weight_->AddGradient(0, of_states, trace_.states);
  } else if (auto d = weight_.grad_ref()) {
    const GemmMode mode = d.Begin() ? GemmMode::kAdd : GemmMode::kAssign;
    Gemm<T>(of_states.Transposed(), {trace_.states, rows, w},
            {d.data(), 4 * w, w}, mode);
  }
  if (!bias_.has_value()) return;
  if (auto d = bias_.grad_ref()) {
    AddColumnSums(d_product, rows, 4 * w, d.BeginPartial());
  }
}

template <typename T>
void LstmPass<T>::BackwardStep(int64_t step, const T* d_sequence, T* d_state,
                               T* d_cell, T* d_product, T* d_x,
                               bool accumulate) const {
  const int64_t w = trace_.width;
  for (int64_t b = 0; b < batch(); ++b) {
    T* const d_gates = d_product + b * 4 * w;
    if (!steps_.active(b, step)) {
      std::fill_n(d_gates, 4 * w, T(0));
      continue;
    }
    const int64_t position = steps_.row(b, step);
    T* const d_row = d_state + b * w;
    if (d_sequence != nullptr) {
      const T* const d_out = d_sequence + position * w;
      for (int64_t i = 0; i < w; ++i) d_row[i] += d_out[i];
    }
    LstmBackward(w, trace_.row(step, b), d_row, d_cell + b * w, d_gates);
    // All of the state's gradient goes through the gates.
    std::fill_n(d_row, w, T(0));
    if (d_x != nullptr) {
      AddOrAssign(d_gates, 4 * w, accumulate, d_x + position * 4 * w);
    }
  }
  Gemm<T>({d_product, batch(), 4 * w}, {weight_.data(), 4 * w, w},
          {d_state, batch(), w}, GemmMode::kAdd);
}

}  // namespace

template <typename T>
LstmOutputs<T> LstmSequence(const LstmInputs<T>& inputs) {
  CheckShapes(inputs);
  Tape<T>& tape = inputs.projected.tape();
  const int64_t batch = inputs.projected.dim(0);
  const int64_t time = inputs.projected.dim(1);
  const int64_t width = inputs.projected.cols() / 4;
  const bool needs_grad =
      inputs.projected.needs_grad() || inputs.weight_hh.needs_grad() ||
      inputs.initial_state.needs_grad() || inputs.initial_cell.needs_grad() ||
      (inputs.bias_hh.has_value() && inputs.bias_hh.needs_grad());
  const LstmOutputs<T> out = {tape.New({batch, time, width}, needs_grad),
                              tape.New({batch, width}, needs_grad),
                              tape.New({batch, width}, needs_grad)};
  Arena& arena = tape.arena();
  const RaggedSteps steps(batch, time, inputs.lengths, inputs.reverse, arena);
  const bool recorded = out.sequence.needs_grad();
  const int64_t blocks = recorded ? steps.steps() : 1;
  const LstmTrace<T> trace = {arena.New<T>((blocks + 1) * batch * width),
                              arena.New<T>((blocks + 1) * batch * width),
                              arena.New<T>(blocks * batch * 4 * width),
                              arena.New<T>(blocks * batch * width),
                              width,
                              recorded ? batch : 0};
  const LstmPass<T> pass(inputs, steps, trace);
  pass.Forward(out);
  tape.RecordOutputs("LstmSequence",
                     {out.sequence, out.final_state, out.final_cell},
                     [=] { pass.Backward(out); });
  return out;
}

template LstmOutputs<float> LstmSequence(const LstmInputs<float>&);
template LstmOutputs<double> LstmSequence(const LstmInputs<double>&);

}  // namespace regard
