// A state mixer as part of a Transformer layer. Handles padding, visits hook
// points, and chooses between the mixer's step, chunk and matrix forms.
//
// Hook points, in the scope "attention": "queries", "keys", "values", "context"
// and "weights", which is the matrix of the mixer.
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

// Returns an array with the shape of x [.., width]. Row i of the result is row
// rows[i] of x, or 0 if rows[i] is kNoRow. `rows` has one entry per row of x
// and must outlive the backward pass.
inline constexpr int64_t kNoRow = -1;
template <typename T>
Var<T> TakeRows(Var<T> x, absl::Span<const int64_t> rows);

template <typename T>
struct MixerInputs {
  // Nonzero where x contains a position of a sequence, [rows, time]. Padding
  // may be anywhere in a row, and its values, such as NaN, have no effect.
  // Empty means no padding. Must be empty if there is a state.
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

  // x [rows, time, width] -> [rows, time, width], with 0 at padding. Computes a
  // step if there is a state and one position, otherwise a chunk. If a hook
  // replaces the weights or needs their gradients, the contexts are the mixer's
  // matrix times the values. A decoder then keeps the terms of all positions.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    const MixerInputs<T>& inputs) const;

  const StateMixer<T>& mixer() const { return *mixer_; }

 private:
  MixerTerms<T> AppendTerms(const MixerTerms<T>& terms,
                            const MixerInputs<T>& inputs) const;
  Var<T> Contexts(Forward<T>& forward, const MixerTerms<T>& terms,
                  const MixerInputs<T>& inputs) const;

  std::unique_ptr<StateMixer<T>> mixer_;
  // Slots of the terms of all positions, for hooks.
  int term_slots_[3 + MixerTerms<T>::kOthers];
};

}  // namespace regard

#endif  // ATTENTION_MIXER_LAYER_H_
