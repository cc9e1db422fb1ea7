// Less memory for more time: a function whose inner values are not kept, but
// computed again in the backward pass (gradient checkpointing; torch.utils.
// checkpoint, jax.checkpoint).
#ifndef AUTODIFF_OPS_RECOMPUTE_H_
#define AUTODIFF_OPS_RECOMPUTE_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The mode and random state of a tape, under which a function runs again.
template <typename T>
class ReplayState {
 public:
  explicit ReplayState(const Tape<T>& tape)
      : training_(tape.training()), random_(tape.random()) {}

  // Runs fn() -> Var<T>, of `shape`, with recording on, gives its value the
  // gradient d(index of an element), goes back through what was recorded, and
  // discards it.
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
    tape.BackwardAndRelease(mark, again);
    tape.Rewind(mark);
  }

 private:
  void Restore(Tape<T>& tape) const {
    tape.set_training(training_);
    tape.set_random(random_);
  }

  bool training_;
  RandomState random_;
};

// A copy of `inputs`, the operands of `operation`, on the tape.
template <typename T>
absl::Span<const Var<T>> KeepInputs(const char* operation, Tape<T>& tape,
                                    absl::Span<const Var<T>> inputs) {
  for (const Var<T>& input : inputs) CheckOperand(operation, tape, input);
  auto* kept = tape.arena().template New<Var<T>>(inputs.size());
  std::copy(inputs.begin(), inputs.end(), kept);
  return {kept, inputs.size()};
}

// Gives gradients storage that a replay does not release.
template <typename T>
void AllocateGradients(absl::Span<const Var<T>> inputs) {
  for (const Var<T>& input : inputs) {
    Node<T>* const node = input.node();
    if (node->needs_grad && node->grad == nullptr) {
      node->tape->AllocateGrad(node);
    }
  }
}

// fn(inputs), where fn takes an absl::Span<const Var<T>> and gives a Var<T>.
// fn runs twice and must compute the same both times: it is trivially copyable,
// and reads nothing that changes in between but the tape, the mode and random
// state of which are those of the first run both times. Besides `inputs` it may
// use values that need no gradient, and leaves, such as parameters; a gradient
// of any other value is a failed check. Dropout in fn has the same mask both
// times. Values and gradients have the bits that fn has without Recompute().
template <typename T, typename F>
Var<T> Recompute(Tape<T>& tape, absl::Span<const Var<T>> inputs, F fn) {
  const absl::Span<const Var<T>> kept = KeepInputs("Recompute", tape, inputs);
  // The output moves below the mark by way of scratch.
  const bool recording = tape.recording();
  const bool wanted_grad = tape.wanted_grad();
  const typename Tape<T>::Mark mark = tape.Save();
  tape.set_recording(false);
  tape.set_wanted_grad(false);
  ScratchScope<T> scratch(tape);
  const Var<T> inner = fn(kept);
  // A function may also return an input, or a leaf.
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

// Rows first .. first + count - 1 of one example, of all heads.
struct RowBlock {
  int64_t example;
  int64_t first;
  int64_t count;
};

// y [batch, heads, rows, width] in blocks of up to `most` >= 1 rows of an
// example: fn(inputs, block) gives [1, heads, block.count, width]. What
// Recompute() says of fn holds for each block. One block at a time is in
// memory, and in both passes they are computed in rising order, so that
// gradients add up in the order in which one pass over all rows adds them.
template <typename T, typename F>
Var<T> RecomputeRows(Tape<T>& tape, absl::Span<const Var<T>> inputs,
                     const Shape& shape, int64_t most, F fn) {
  REGARD_CHECK_GE(most, 1) << "rows per block of RecomputeRows";
  REGARD_CHECK_EQ(shape.rank(), 4) << "RecomputeRows to " << shape;
  const absl::Span<const Var<T>> kept =
      KeepInputs("RecomputeRows", tape, inputs);
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
  // Where the rows of a block are for a head.
  const auto place = [=](const RowBlock& block, int64_t head) {
    return ((block.example * heads + head) * rows + block.first) * width;
  };
  // Whether it needs a gradient is known at the end.
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

}  // namespace regard

#endif  // AUTODIFF_OPS_RECOMPUTE_H_
