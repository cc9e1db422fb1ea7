// The forward and backward pass of a recurrent cell over whole sequences.
// Internal to the recurrent operations.
//
// A cell is a class with
//
//   static constexpr int kGates;   // rows of weight_hh, in multiples of width
//   static constexpr int kStates;  // parts of CellState
//   // The number of gates for which weight_hh is multiplied by h. For all
//   // other gates, it is multiplied by `extra`, which the cell computes in
//   // between.
//   int gates_of_state() const;
//   void Forward(const RecurrentPass<T>& pass, int64_t step,
//                const ForwardStep<T>& data) const;
//   void Backward(const RecurrentPass<T>& pass, int64_t step,
//                 const BackwardStep<T>& data) const;
//
// A cell computes the products and row operations of one step for the live rows
// of the step, so sequences that have ended cost nothing. This file does the
// remaining work.
#ifndef AUTODIFF_RECURRENT_RECURRENT_PASS_H_
#define AUTODIFF_RECURRENT_RECURRENT_PASS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "autodiff/arena.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/leaf_products.h"
#include "autodiff/recurrent/ragged_steps.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The operands, and those results of the forward pass that the backward pass
// needs. The results are time-major: each step has a block of live rows, so
// that all steps form one matrix. If no gradient is needed, all steps share one
// block. Trivially copyable.
template <typename T>
struct RecurrentPass {
  Var<T> x, weight, bias;
  CellState<T> initial;
  RaggedSteps steps;
  int64_t width;
  int64_t gates;           // kGates of the cell
  int64_t gates_of_state;  // gates_of_state() of the cell
  ProductPrecision precision;

  bool one_block = false;
  std::array<T*, kMaxRecurrentStates> states = {};  // [.., width]
  T* activations = nullptr;                         // [.., gates * width]
  T* extra = nullptr;                               // [.., width], for the cell
  CellState<T> final_state = {};

  int64_t live(int64_t step) const { return steps.live(step); }
  int64_t block_row(int64_t step, int64_t row) const {
    return (one_block ? 0 : steps.first(step)) + row;
  }
  // Return a row of part `index` of the state before or after a step.
  T* state(int index, int64_t step, int64_t row) const {
    return states[index] + block_row(step, row) * width;
  }
  T* next_state(int index, int64_t step, int64_t row) const {
    if (row < live(step + 1)) return state(index, step + 1, row);
    return final_state[index].data() + steps.sequence(row) * width;
  }
  T* activation(int64_t step, int64_t row) const {
    return activations + block_row(step, row) * gates * width;
  }
  T* extra_row(int64_t step, int64_t row) const {
    return extra + block_row(step, row) * width;
  }
  const T* x_row(int64_t step, int64_t row) const {
    return x.data() + steps.position(row, step) * gates * width;
  }
  const T* bias_data() const {
    return bias.has_value() ? bias.data() : nullptr;
  }

  // The rows of weight_hh that are multiplied with h (of_state), and with
  // `extra` (of_extra).
  WeightPart<T> of_state() const {
    return {weight, 0, gates_of_state * width, 0, width};
  }
  WeightPart<T> of_extra() const {
    const int64_t first = gates_of_state * width;
    return {weight, first, gates * width - first, 0, width};
  }
};

// The operands of one forward step. The cell sets the activations and `extra`
// of the step, and the states after it.
template <typename T>
struct ForwardStep {
  // The transposes of of_state() and of_extra() of the pass.
  ConstMatrix<T> of_state;
  ConstMatrix<T> of_extra;
  T* product;  // [live, gates * width], uninitialized
};

template <typename T>
struct BackwardStep {
  // The gradient that the outputs contribute to h, or null if they contribute
  // nothing. Indexed by RaggedSteps::position().
  const T* d_sequence;
  // Input: gradients of the states after the step. Output: gradients of the
  // states before it.
  std::array<T*, kMaxRecurrentStates> d_states;
  // Output: gradients of weight_hh h + bias_hh, or of weight_hh `extra`, [live,
  // gates * width].
  T* d_product;
  // of_state() and of_extra() of the pass, for products with d_product.
  ConstMatrix<T> of_state = {nullptr, 0, 0};
  ConstMatrix<T> of_extra = {nullptr, 0, 0};
  T* d_x;                     // gradient of projected, or null if not needed
  bool accumulate;            // whether to add to d_x
  std::array<T*, 2> scratch;  // [batch, width] each
};

// Zeroes the positions of out [batch, time, width] that no step reads.
template <typename T>
void ClearPadding(const RaggedSteps& steps, int64_t width, T* out) {
  for (int64_t b = 0; b < steps.batch(); ++b) {
    std::fill(out + (b * steps.time() + steps.length(b)) * width,
              out + (b + 1) * steps.time() * width, T(0));
  }
}

template <typename T, typename Cell>
void RunForward(const RecurrentPass<T>& pass, const Cell& cell,
                const RecurrentSequenceOutputs<T>& out) {
  const int64_t width = pass.width;
  const int64_t batch = pass.steps.batch();
  const int64_t steps = pass.steps.steps();
  ScratchScope<T> scratch(pass.x.tape());
  const bool has_extra = pass.gates_of_state < pass.gates;
  const ConstMatrix<T> of_state =
      TransposedForProducts(pass.of_state(), batch, steps, pass.precision);
  const ForwardStep<T> data = {
      of_state,
      has_extra
          ? TransposedForProducts(pass.of_extra(), batch, steps, pass.precision)
          : of_state,
      scratch.New(batch * pass.gates * width)};
  for (int k = 0; k < Cell::kStates; ++k) {
    for (int64_t row = 0; row < batch; ++row) {
      std::copy_n(pass.initial[k].data() + pass.steps.sequence(row) * width,
                  width, pass.next_state(k, /*step=*/-1, row));
    }
  }
  ClearPadding(pass.steps, width, out.sequence.data());
  for (int64_t step = 0; step < steps; ++step) {
    cell.Forward(pass, step, data);
    for (int64_t row = 0; row < pass.live(step); ++row) {
      std::copy_n(pass.next_state(0, step, row), width,
                  out.sequence.data() + pass.steps.position(row, step) * width);
    }
  }
}

template <typename T, typename Cell>
void RunBackward(const RecurrentPass<T>& pass, const Cell& cell,
                 const RecurrentSequenceOutputs<T>& out) {
  const int64_t width = pass.width;
  const int64_t batch = pass.steps.batch();
  const int64_t size = batch * width;
  const int64_t gates_width = pass.gates * width;
  const int64_t rows = pass.steps.total();
  ScratchScope<T> scratch(pass.x.tape());
  T* const d_products = scratch.New(rows * gates_width);
  BackwardStep<T> data = {};
  data.d_sequence = out.sequence.grad_data();
  data.scratch = {scratch.New(size), scratch.New(size)};
  for (int k = 0; k < Cell::kStates; ++k) {
    data.d_states[k] = scratch.New(size);
    const T* const d_final = out.final_state[k].grad_data();
    if (d_final == nullptr) {
      std::fill_n(data.d_states[k], size, T(0));
      continue;
    }
    for (int64_t row = 0; row < batch; ++row) {
      std::copy_n(d_final + pass.steps.sequence(row) * width, width,
                  data.d_states[k] + row * width);
    }
  }
  if (auto d = pass.x.grad_ref()) {
    data.accumulate = d.BeginContribution();
    data.d_x = d.data();
    if (!data.accumulate) ClearPadding(pass.steps, gates_width, data.d_x);
  }
  const int64_t steps = pass.steps.steps();
  data.of_state = PartForProducts(pass.of_state(), steps, pass.precision);
  if (pass.gates_of_state < pass.gates) {
    data.of_extra = PartForProducts(pass.of_extra(), steps, pass.precision);
  }
  for (int64_t step = steps - 1; step >= 0; --step) {
    data.d_product = d_products + pass.steps.first(step) * gates_width;
    cell.Backward(pass, step, data);
  }
  for (int k = 0; k < Cell::kStates; ++k) {
    if (auto d = pass.initial[k].grad_ref()) {
      const bool accumulate = d.BeginContribution();
      for (int64_t row = 0; row < batch; ++row) {
        const T* const from = data.d_states[k] + row * width;
        AddOrAssign(accumulate, width,
                    d.data() + pass.steps.sequence(row) * width,
                    [=](int64_t i) { return from[i]; });
      }
    }
  }
  const int64_t direct = pass.gates_of_state * width;
  AddWeightGradient<T>(pass.of_state(), {d_products, rows, direct, gates_width},
                       {pass.states[0], rows, width}, pass.precision);
  if (direct < gates_width) {
    AddWeightGradient<T>(
        pass.of_extra(),
        {d_products + direct, rows, gates_width - direct, gates_width},
        {pass.extra, rows, width}, pass.precision);
  }
  if (!pass.bias.has_value()) return;
  if (auto d = pass.bias.grad_ref()) {
    T* const __restrict d_bias = d.BeginAdding();
    for (int64_t i = 0; i < rows; ++i) {
      const T* const row = d_products + i * gates_width;
      for (int64_t j = 0; j < gates_width; ++j) d_bias[j] += row[j];
    }
  }
}

template <typename T, typename Cell>
void CheckShapes(const char* name, const RecurrentSequenceOperands<T>& in) {
  const Shape& x = in.projected.shape();
  REGARD_CHECK(x.rank() == 3 && x.cols() % Cell::kGates == 0)
      << "projected inputs of " << name << " " << x;
  const int64_t width = x.cols() / Cell::kGates;
  REGARD_CHECK_EQ(in.weight_hh.shape(), Shape({x.cols(), width}))
      << "weight_hh of " << name;
  for (int k = 0; k < Cell::kStates; ++k) {
    REGARD_CHECK_EQ(in.initial[k].shape(), Shape({x[0], width}))
        << "initial state " << k << " of " << name;
  }
  if (in.bias_hh.has_value()) {
    REGARD_CHECK_EQ(in.bias_hh.shape(), Shape({x.cols()}))
        << "bias_hh of " << name;
  }
}

template <typename T, typename Cell>
RecurrentSequenceOutputs<T> RunSequence(
    const char* name, const Cell& cell,
    const RecurrentSequenceOperands<T>& in) {
  CheckShapes<T, Cell>(name, in);
  Tape<T>& tape = TapeOf(name, in.projected, in.weight_hh);
  const int64_t batch = in.projected.dim(0);
  const int64_t time = in.projected.dim(1);
  const int64_t width = in.weight_hh.cols();
  bool needs_grad = in.projected.needs_grad() || in.weight_hh.needs_grad();
  if (in.bias_hh.has_value()) {
    CheckOperand(name, tape, in.bias_hh);
    needs_grad |= in.bias_hh.needs_grad();
  }
  for (int k = 0; k < Cell::kStates; ++k) {
    CheckOperand(name, tape, in.initial[k]);
    needs_grad |= in.initial[k].needs_grad();
  }
  RecurrentSequenceOutputs<T> out;
  out.sequence = tape.New({batch, time, width}, needs_grad);
  for (int k = 0; k < Cell::kStates; ++k) {
    out.final_state[k] = tape.New({batch, width}, needs_grad);
  }
  Arena& arena = tape.arena();
  const bool recorded = out.sequence.needs_grad();
  RecurrentPass<T> pass = {
      in.projected,
      in.weight_hh,
      in.bias_hh,
      in.initial,
      RaggedSteps(batch, time, in.lengths, in.reverse, arena),
      width,
      Cell::kGates,
      cell.gates_of_state(),
      tape.precision()};
  pass.one_block = !recorded;
  pass.final_state = out.final_state;
  const int64_t rows = recorded ? pass.steps.total() : batch;
  for (int k = 0; k < Cell::kStates; ++k) {
    pass.states[k] = arena.New<T>(rows * width);
  }
  pass.activations = arena.New<T>(rows * Cell::kGates * width);
  pass.extra = arena.New<T>(rows * width);
  RunForward(pass, cell, out);
  Var<T> outs[1 + Cell::kStates] = {out.sequence};
  std::copy_n(out.final_state.begin(), Cell::kStates, outs + 1);
  tape.RecordOutputs(name, outs, [=] { RunBackward(pass, cell, out); });
  return out;
}

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_RECURRENT_PASS_H_
