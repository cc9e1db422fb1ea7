// Linear attention: a head's state S collects products of keys and values.
//
//   S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t
//
// Options choose the decay exp(g_t) and the functions around the recurrence.
// Katharopoulos et al., "Transformers are RNNs", 2020. retention, gated_linear
// and mamba2 are choices of the options.
#ifndef ATTENTION_MIXERS_LINEAR_ATTENTION_H_
#define ATTENTION_MIXERS_LINEAR_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "attention/mixers/decayed_recurrence.h"
#include "attention/mixers/learned_decay.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/mixers/short_convolution.h"
#include "attention/position_encoding.h"
#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

// The width of each head: `given`, or, where that is 0, an equal part of all
// heads' width `whole`.
inline int32_t HeadWidth(int32_t given, int64_t whole, int32_t heads) {
  return given > 0 ? given : static_cast<int32_t>(whole / heads);
}
// Returns whether HeadWidth(), of the field `name`, is a whole number; adds a
// problem if not.
bool RequireHeadWidth(const char* name, int32_t given, int64_t whole,
                      int32_t heads, ConfigProblems& problems);
// Adds a problem if the heads side by side, which are one extent of a shape,
// are too wide. `of_head` is the width of each head, for the field `name`.
void RequireSideBySide(const char* name, int32_t of_head, int32_t heads,
                       ConfigProblems& problems);

// Parameters: {query,key,value,output}.*, shaped as Linear's, and as chosen
// {query,key,value}_convolution.*, gate.weight, gate.bias, norm.weight, skip
// [heads, 1, 1], decay.weight; with HEAD step_bias and decay_rate [heads]; with
// CHANNEL decay.bias and narrow_decay.weight.
template <typename T>
class LinearAttention : public StateMixer<T> {
 public:
  using Options = LinearAttentionMixer;

  LinearAttention(const Options& options, const MixerSetup<T>& setup);

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems);

  MixerTerms<T> Project(Forward<T>& forward, Var<T> x, int64_t first_position,
                        LayerState<T>* state) const override;
  Var<T> Step(Forward<T>& forward, const MixerTerms<T>& terms,
              LayerState<T>* state) const override;
  Var<T> Chunk(Forward<T>& forward, const MixerTerms<T>& terms,
               LayerState<T>* state) const override;
  Var<T> Matrix(Forward<T>& forward, const MixerTerms<T>& terms) const override;
  Var<T> Output(Forward<T>& forward, const MixerTerms<T>& terms,
                Var<T> contexts) const override;

 private:
  enum Other { kLogDecay, kGate };

  Var<T> MapFeatures(Var<T> x) const;
  // The logarithm of the decay, [rows, heads, time, 1 or key width]; empty:
  // there is none. Sets the step sizes [rows, heads, time, 1] with HEAD.
  Var<T> LogDecay(Forward<T>& forward, Var<T> x, Var<T>* step_size) const;
  DecayedInputs<T> Recurrence(const MixerTerms<T>& terms,
                              const LayerState<T>* state) const;
  // Ends Step() and Chunk(): turns the outputs of the recurrence into contexts.
  Var<T> Contexts(Forward<T>& forward, const MixerTerms<T>& terms,
                  const DecayedOutputs<T>& outputs, LayerState<T>* state) const;

  const Options options_;  // with all widths
  const bool normalizes_;
  const int state_;  // the slot
  ConvolvedLinear<T> query_;
  ConvolvedLinear<T> key_;
  ConvolvedLinear<T> value_;
  LinearLayer<T> output_;
  std::optional<LinearLayer<T>> gate_;
  std::optional<NormLayer<T>> norm_;
  std::unique_ptr<PositionEncoding<T>> rotary_;
  Parameter<T> skip_;                           // absent without it
  std::optional<LearnedDecay<T>> head_decay_;   // with HEAD
  std::optional<LinearLayer<T>> narrow_decay_;  // with CHANNEL
  std::optional<LinearLayer<T>> decay_;         // with CHANNEL
};

}  // namespace regard

#endif  // ATTENTION_MIXERS_LINEAR_ATTENTION_H_
