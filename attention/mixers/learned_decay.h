// A learned decay that depends on each position, as in Mamba-2.
//
//   log decay = -a softplus(z + b) <= 0,
//
// where z is a linear map of the layer's input, and a > 0 is learned for each
// head. Dao and Gu, "Transformers are SSMs", 2024.
#ifndef ATTENTION_MIXERS_LEARNED_DECAY_H_
#define ATTENTION_MIXERS_LEARNED_DECAY_H_

#include <cstdint>
#include <optional>

#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"

namespace regard {

// Reshapes [rows, time, heads * width] to [rows, heads, time, width].
template <typename T>
Var<T> ReshapeToHeads(Var<T> x, int64_t heads);

struct LearnedDecayWidths {
  int64_t heads;
  int64_t channels = 1;  // decays per head
  // If above 0, z is a linear map of `narrow` numbers, which are a linear map
  // of the input. If 0, z is a linear map of the input.
  int64_t narrow = 0;
};

// The parameters are decay.weight, step_bias [heads * channels] (b), decay_rate
// [heads] (the logarithm of a) and, if `narrow` is above 0,
// narrow_decay.weight.
template <typename T>
class LearnedDecay {
 public:
  LearnedDecay(const MixerSetup<T>& setup, const LearnedDecayWidths& widths);

  // Returns the logarithm of the decay, [rows, heads, time, channels], for x
  // [rows, time, width]. Unless `step` is null, sets it to softplus(z + b),
  // which has the shape of the result.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    Var<T>* step = nullptr) const;

 private:
  const LearnedDecayWidths widths_;
  std::optional<LinearLayer<T>> narrow_decay_;
  LinearLayer<T> decay_;
  Parameter<T> step_bias_;
  Parameter<T> decay_rate_;
};

}  // namespace regard

#endif  // ATTENTION_MIXERS_LEARNED_DECAY_H_
