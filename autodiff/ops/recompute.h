// Activation checkpointing: the intermediate values of a function are not kept
// but recomputed in the backward pass. Takes less memory and more time. Compare
// torch.utils.checkpoint and jax.checkpoint.
#ifndef AUTODIFF_OPS_RECOMPUTE_H_
#define AUTODIFF_OPS_RECOMPUTE_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The mode, random state and precision of a tape, which are restored when a
// function runs again.
template <typename T>
class ReplayState {
 public:
  explicit ReplayState(const Tape<T>& tape)
      : training_(tape.training()),
        random_(tape.random()),
        precision_rule_(tape.precision_rule()) {}

  // Runs fn(), which returns a Var<T> of `shape`, with recording on. Sets
  // element i of the result's gradient to d(i), runs the backward pass over the
  // new records, and discards them.
  template <typename F, typename D>
  void Replay(Tape<T>& tape, const Shape& shape, F fn, D d) const {
    const typename Tape<T>::Mark mark = tape.Save();
    const ReplayState outer(tape);
    const bool outer_recording = tape.recording();
    Restore(tape);
    tape.set_recording(true);
    const Var<T> again = fn();
    REGARD_CHECK_EQ(again.shape(), shape)
        << "a recomputed function gave another shape the second time";
    outer.Restore(tape);
    tape.set_recording(outer_recording);
    if (auto gradient = again.grad_ref()) gradient.AddEach(d);
    tape.BackwardToAndRelease(mark, again);
    tape.Rewind(mark);
  }

  // Runs fn(state) with recording on, and calls give_gradients() with its
  // result. Then runs the backward pass over the new records and discards them.
  // If `values` is null, `first` is the state. Otherwise, the state is a copy
  // of `values`, and the gradient of the copy is written to `d_values`. Returns
  // whether a gradient reached the copy.
  template <typename F, typename G>
  bool ReplayLink(Tape<T>& tape, Var<T> first, const T* values,
                  const Shape& shape, T* d_values, F fn,
                  G give_gradients) const {
    const typename Tape<T>::Mark outer_mark = tape.Save();
    const ReplayState outer(tape);
    const bool outer_recording = tape.recording();
    Restore(tape);
    tape.set_recording(true);
    Var<T> state = first;
    if (values != nullptr) {
      state = tape.New(shape, /*needs_grad=*/true);
      std::copy_n(values, state.size(), state.data());
      state.node()->grad = d_values;
    }
    const typename Tape<T>::Mark mark = tape.Save();
    const auto again = fn(state);
    outer.Restore(tape);
    tape.set_recording(outer_recording);
    give_gradients(again);
    tape.BackwardTo(mark);
    const bool reached = values != nullptr && state.grad_data() != nullptr;
    tape.Rewind(outer_mark);
    return reached;
  }

 private:
  void Restore(Tape<T>& tape) const {
    tape.set_training(training_);
    tape.set_random(random_);
    tape.set_precision_rule(precision_rule_);
  }

  bool training_;
  RandomState random_;
  const PrecisionRule* precision_rule_;
};

// Returns a copy of the span `inputs` in the tape's arena. The Vars are the
// operands of `operation`.
template <typename T>
absl::Span<const Var<T>> CopyInputs(const char* operation, Tape<T>& tape,
                                    absl::Span<const Var<T>> inputs) {
  for (const Var<T>& input : inputs) CheckOperand(operation, tape, input);
  auto* kept = tape.arena().template New<Var<T>>(inputs.size());
  std::copy(inputs.begin(), inputs.end(), kept);
  return {kept, inputs.size()};
}

// Allocates gradients, so that a replay does not release them.
template <typename T>
void AllocateGradients(absl::Span<const Var<T>> inputs) {
  for (const Var<T>& input : inputs) {
    Node<T>* const node = input.node();
    if (node->needs_grad && node->grad == nullptr) {
      node->tape->AllocateUninitializedGrad(node);
    }
  }
}

// Returns fn(inputs), where fn takes an absl::Span<const Var<T>> and returns a
// Var<T>.
//
// fn runs twice and must compute the same values both times. fn must be
// trivially copyable. fn must not read anything that changes between the runs,
// except the tape: both runs see the mode, random state and precision of the
// first run. In addition to `inputs`, fn may use leaves, such as parameters,
// and values that need no gradient. fn must not use other values that need a
// gradient. A check finds such a use unless the value already has a gradient
// from a later operation. Dropout in fn has the same mask in both runs. Values
// and gradients are bit-identical to a direct call of fn.
template <typename T, typename F>
Var<T> Recompute(Tape<T>& tape, absl::Span<const Var<T>> inputs, F fn) {
  const absl::Span<const Var<T>> kept = CopyInputs("Recompute", tape, inputs);
  // Rewinding would discard the output, so it is copied to scratch storage
  // first.
  const bool recording = tape.recording();
  const bool wanted_grad = tape.wanted_grad();
  const typename Tape<T>::Mark mark = tape.Save();
  tape.set_recording(false);
  tape.set_wanted_grad(false);
  ScratchScope<T> scratch(tape);
  const Var<T> inner = fn(kept);
  // wanted_grad() does not cover an fn that returns one of its inputs or a
  // leaf.
  const bool needs_grad = tape.wanted_grad() || inner.needs_grad();
  T* const values = scratch.New(inner.size());
  std::copy_n(inner.data(), inner.size(), values);
  tape.set_recording(recording);
  tape.set_wanted_grad(wanted_grad);
  const Shape shape = inner.shape();
  tape.Rewind(mark);
  Var<T> y = tape.New(shape, needs_grad);
  std::copy_n(values, y.size(), y.data());

  Tape<T>* const owner = &tape;
  const ReplayState<T> state(tape);
  tape.Record("Recompute", y, [=] {
    AllocateGradients(kept);
    const T* g = y.grad_data();
    state.Replay(
        *owner, y.shape(), [&] { return fn(kept); },
        [=](int64_t i) { return g[i]; });
  });
  return y;
}

// Rows first .. first + count - 1 of one example, for all heads.
struct RowBlock {
  int64_t example;
  int64_t first;
  int64_t count;
};

// Computes y [batch, heads, rows, width] in blocks of up to `most` >= 1 rows of
// an example. fn(inputs, block) returns [1, heads, block.count, width]. The
// requirements of Recompute() hold for each block. Only one block at a time is
// in memory. Both passes compute the blocks in ascending order, so that
// gradients are added in the same order as in one pass over all rows.
template <typename T, typename F>
Var<T> RecomputeRows(Tape<T>& tape, absl::Span<const Var<T>> inputs,
                     const Shape& shape, int64_t most, F fn) {
  REGARD_CHECK_GE(most, 1) << "rows per block of RecomputeRows";
  REGARD_CHECK_EQ(shape.rank(), 4) << "RecomputeRows to " << shape;
  const absl::Span<const Var<T>> kept =
      CopyInputs("RecomputeRows", tape, inputs);
  const int64_t batch = shape[0];
  const int64_t heads = shape[1];
  const int64_t rows = shape[2];
  const int64_t width = shape[3];
  const auto for_each_block = [=](auto f) {
    for (int64_t example = 0; example < batch; ++example) {
      for (int64_t first = 0; first < rows; first += most) {
        f(RowBlock{example, first, std::min(most, rows - first)});
      }
    }
  };
  // Returns the offset in y of the rows of a block for a head.
  const auto place = [=](const RowBlock& block, int64_t head) {
    return ((block.example * heads + head) * rows + block.first) * width;
  };
  // Whether y needs a gradient is known only at the end.
  Var<T> y = tape.New(shape, /*needs_grad=*/false);
  bool needs_grad = false;
  for_each_block([&](const RowBlock& block) {
    const typename Tape<T>::Mark mark = tape.Save();
    const Var<T> part = fn(kept, block);
    REGARD_CHECK_EQ(part.shape(), Shape({1, heads, block.count, width}))
        << "a block of RecomputeRows to " << y.shape();
    needs_grad |= part.needs_grad();
    for (int64_t head = 0; head < heads; ++head) {
      std::copy_n(part.data() + head * block.count * width, block.count * width,
                  y.data() + place(block, head));
    }
    tape.Rewind(mark);
  });
  y.node()->needs_grad = needs_grad;

  Tape<T>* const owner = &tape;
  const ReplayState<T> state(tape);
  tape.Record("RecomputeRows", y, [=] {
    AllocateGradients(kept);
    for_each_block([=](const RowBlock& block) {
      const T* g = y.grad_data();
      const int64_t size = block.count * width;
      state.Replay(
          *owner, Shape({1, heads, block.count, width}),
          [&] { return fn(kept, block); },
          [=](int64_t i) { return g[place(block, i / size) + i % size]; });
    });
  });
  return y;
}

// Rows of a sequence, and the state after them.
template <typename T>
struct RowsAndState {
  Var<T> rows;
  Var<T> state;
};

// Computes y of `shape` [.., rows, width] in blocks of up to `most` >= 1 rows.
// Each block begins with the state that the previous block returned. fn(inputs,
// state, first, count) returns rows first .. first + count - 1 [.., count,
// width] and the next state.
//
// `state` is the initial state. If it is empty, the first call of fn gets an
// empty state. All states must have the same shape. If there are no rows, a
// state is required, y is empty, and the state is returned.
//
// The requirements of Recompute() hold for each block. All states are in
// memory, but only one block at a time.
template <typename T, typename F>
RowsAndState<T> RecomputeChain(Tape<T>& tape, absl::Span<const Var<T>> inputs,
                               Var<T> state, const Shape& shape, int64_t most,
                               F fn) {
  REGARD_CHECK_GE(most, 1) << "rows per block of RecomputeChain";
  REGARD_CHECK_GE(shape.rank(), 2) << "RecomputeChain to " << shape;
  const absl::Span<const Var<T>> kept =
      CopyInputs("RecomputeChain", tape, inputs);
  if (state.has_value()) CheckOperand("RecomputeChain", tape, state);
  const int64_t rows = shape[-2];
  const int64_t width = shape[-1];
  const int64_t blocks = (rows + most - 1) / most;
  if (blocks == 0) {
    REGARD_CHECK(state.has_value()) << "RecomputeChain of no rows and no state";
    return {tape.Constant(shape), state};
  }
  const auto count_of = [=](int64_t block) {
    return std::min(most, rows - block * most);
  };
  const int64_t outer = width == 0 ? 0 : shape.size() / (rows * width);
  // Calls f(offset in y, offset in an array [.., count, width], number of
  // elements) for each contiguous run of elements of a block.
  const auto for_each_run = [=](int64_t block, auto f) {
    const int64_t run = count_of(block) * width;
    for (int64_t i = 0; i < outer; ++i) {
      f((i * rows + block * most) * width, i * run, run);
    }
  };
  Var<T> y = tape.New(shape, /*needs_grad=*/false);
  bool needs_grad = false;
  Var<T> last;          // the state after the last block
  T* states = nullptr;  // states before blocks 1, 2, ..., and the last state
  const bool keeps = tape.recording();
  for (int64_t block = 0; block < blocks; ++block) {
    const typename Tape<T>::Mark mark = tape.Save();
    Var<T> before = state;
    if (block > 0) {
      before = tape.View(states + (keeps ? block - 1 : 0) * last.size(),
                         last.shape());
    }
    const RowsAndState<T> link =
        fn(kept, before, block * most, count_of(block));
    REGARD_CHECK_EQ(link.rows.shape(), shape.With(-2, count_of(block)))
        << "a block of RecomputeChain to " << shape;
    needs_grad |= link.rows.needs_grad() || link.state.needs_grad();
    for_each_run(block, [&](int64_t to, int64_t from, int64_t size) {
      std::copy_n(link.rows.data() + from, size, y.data() + to);
    });
    const int64_t size = link.state.size();
    ScratchScope<T> scratch(tape);
    T* const after = scratch.New(size);
    std::copy_n(link.state.data(), size, after);
    const Shape state_shape = link.state.shape();
    tape.Rewind(mark);
    if (block == 0) {
      states = tape.arena().template New<T>((keeps ? blocks : 1) * size);
      last = tape.New(state_shape, /*needs_grad=*/false);
    }
    REGARD_CHECK_EQ(state_shape, last.shape()) << "states of RecomputeChain";
    std::copy_n(after, size, states + (keeps ? block : 0) * size);
    std::copy_n(after, size, last.data());
  }
  y.node()->needs_grad = needs_grad;
  last.node()->needs_grad = needs_grad;

  Tape<T>* const owner = &tape;
  const ReplayState<T> replay(tape);
  const Var<T> outs[] = {y, last};
  tape.RecordOutputs("RecomputeChain", outs, [=] {
    AllocateGradients(kept);
    const Var<T> first[] = {state};
    if (state.has_value()) AllocateGradients(absl::MakeConstSpan(first));
    ScratchScope<T> scratch(*owner);
    const int64_t size = last.size();
    // The gradients of the states after and before a block. Null means 0.
    T* const gradients[] = {scratch.New(size), scratch.New(size)};
    const T* d_after = last.grad_data();
    for (int64_t block = blocks - 1; block >= 0; --block) {
      T* const d_before = gradients[block % 2];
      const bool reached = replay.ReplayLink(
          *owner, block == 0 ? state : Var<T>(),
          block == 0 ? nullptr : states + (block - 1) * size, last.shape(),
          d_before,
          [&](Var<T> before) {
            return fn(kept, before, block * most, count_of(block));
          },
          [&](const RowsAndState<T>& link) {
            if (y.grad_data() != nullptr) {
              if (auto d = link.rows.grad_ref()) {
                T* const to = d.BeginAdding();
                for_each_run(block, [&](int64_t from, int64_t at, int64_t n) {
                  AddOrAssign(
                      /*accumulate=*/true, n, to + at,
                      [g = y.grad_data() + from](int64_t i) { return g[i]; });
                });
              }
            }
            if (d_after == nullptr) return;
            if (auto d = link.state.grad_ref()) {
              d.AddEach([=](int64_t i) { return d_after[i]; });
            }
          });
      d_after = reached ? d_before : nullptr;
    }
  });
  return {y, last};
}

}  // namespace regard

#endif  // AUTODIFF_OPS_RECOMPUTE_H_
