// A state mixer in a layer: padding, hook points, and the choice of its form.
//
// Hook points, in the scope "attention": "queries", "keys", "values", "context"
// and "weights", the matrix of the mixer.
#ifndef ATTENTION_MIXER_LAYER_H_
#define ATTENTION_MIXER_LAYER_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "attention/layer_state.h"
#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "nn/forward.h"

namespace regard {

// Row i of the result is row rows[i] of x [.., width], or 0 where rows[i] is
// kNoRow; there are as many rows as x has. `rows` outlives the backward pass.
inline constexpr int64_t kNoRow = -1;
template <typename T>
Var<T> TakeRows(Var<T> x, absl::Span<const int64_t> rows);

template <typename T>
struct MixerInputs {
  // Nonzero where x holds a position of a sequence, [rows, time], which may be
  // anywhere in a row; empty: everywhere. What x holds elsewhere, such as NaN,
  // reaches nothing. Not with a state.
  absl::Span<const uint8_t> valid = {};
  int64_t first_position = 0;
  LayerState<T>* state = nullptr;
};

template <typename T>
class MixerLayer {
 public:
  // `config` is valid and chooses a state mixer.
  MixerLayer(const MixerRegistry& mixers, const MixerConfig& config,
             const MixerSetup<T>& setup);

  // x [rows, time, width] -> the same shape, 0 where x is not valid. One
  // position with a state is a step, and all else a chunk. With a hook that
  // differentiates or replaces weights, the contexts are the product of the
  // matrix and the values; decoding then keeps the terms of all positions.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    const MixerInputs<T>& inputs) const;

  const StateMixer<T>& mixer() const { return *mixer_; }

 private:
  MixerTerms<T> AllTerms(const MixerTerms<T>& terms,
                         const MixerInputs<T>& inputs) const;
  Var<T> Contexts(Forward<T>& forward, const MixerTerms<T>& terms,
                  const MixerInputs<T>& inputs) const;

  std::unique_ptr<StateMixer<T>> mixer_;
  // For hooks: slots of the terms of all positions.
  int term_slots_[3 + MixerTerms<T>::kOthers];
};

}  // namespace regard

#endif  // ATTENTION_MIXER_LAYER_H_
