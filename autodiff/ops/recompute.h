// Less memory for more time: a function whose inner values are not kept, but
// computed again in the backward pass (gradient checkpointing; torch.utils.
// checkpoint, jax.checkpoint).
#ifndef AUTODIFF_OPS_RECOMPUTE_H_
#define AUTODIFF_OPS_RECOMPUTE_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

// fn(inputs), where fn takes an absl::Span<const Var<T>> and gives a Var<T>.
// fn runs twice and must compute the same both times: it is trivially copyable,
// and reads nothing that changes in between but the tape, the mode and random
// state of which are those of the first run both times. Besides `inputs` it may
// use values that need no gradient, and leaves, such as parameters; a gradient
// of any other value is a failed check. Dropout in fn has the same mask both
// times. Values and gradients have the bits that fn has without Recompute().
template <typename T, typename F>
Var<T> Recompute(Tape<T>& tape, absl::Span<const Var<T>> inputs, F fn) {
  const size_t count = inputs.size();
  auto* kept = tape.arena().template New<Var<T>>(count);
  std::copy(inputs.begin(), inputs.end(), kept);

  // The output moves below the mark by way of scratch.
  const bool recording = tape.recording();
  const typename Tape<T>::Mark mark = tape.Save();
  tape.set_recording(false);
  ScratchScope<T> scratch(tape);
  const Var<T> inner = fn(absl::Span<const Var<T>>(kept, count));
  T* const values = scratch.New(inner.size());
  std::copy_n(inner.data(), inner.size(), values);
  tape.set_recording(recording);
  const Shape shape = inner.shape();
  tape.Rewind(mark);
  Var<T> y = tape.New(shape, /*needs_grad=*/true);
  std::copy_n(values, y.size(), y.data());

  Tape<T>* const owner = &tape;
  const bool training = tape.training();
  const RandomState random = tape.random();
  tape.Record("Recompute", y, [=] {
    for (size_t i = 0; i < count; ++i) {
      Node<T>* const node = kept[i].node();
      if (node->needs_grad && node->grad == nullptr) owner->AllocateGrad(node);
    }
    const typename Tape<T>::Mark mark = owner->Save();
    const bool outer_training = owner->training();
    const RandomState outer_random = owner->random();
    const bool outer_recording = owner->recording();
    owner->set_training(training);
    owner->set_random(random);
    owner->set_recording(true);
    const Var<T> again = fn(absl::Span<const Var<T>>(kept, count));
    owner->set_training(outer_training);
    owner->set_random(outer_random);
    owner->set_recording(outer_recording);
    const T* g = y.grad_data();
    if (auto d = again.grad_ref()) d.AddEach([=](int64_t i) { return g[i]; });
    owner->BackwardTo(mark);
    owner->Rewind(mark);
  });
  return y;
}

}  // namespace regard

#endif  // AUTODIFF_OPS_RECOMPUTE_H_
