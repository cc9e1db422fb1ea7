// Linear attention: the state S of a head accumulates outer products of keys
// and values.
//
//   S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T,   o_t = S_t^T q_t
//
// Options choose the decay exp(g_t) and the functions around the recurrence.
// Katharopoulos et al., "Transformers are RNNs", 2020. retention, gated_linear
// and mamba2 are presets of the options.
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

// Returns the width of each head: `given`, or an equal part of `whole` if
// `given` is 0.
inline int32_t HeadWidth(int32_t given, int64_t whole, int32_t heads) {
  return given > 0 ? given : static_cast<int32_t>(whole / heads);
}
// Returns whether HeadWidth() of the field `name` is a whole number. If not,
// adds a problem.
bool RequireHeadWidth(const char* name, int32_t given, int64_t whole,
                      int32_t heads, ConfigProblems& problems);
// Adds a problem if the concatenated heads are too wide for one axis of a
// shape. `of_head` is the width of each head, from the field `name`.
void RequireTotalWidthFits(const char* name, int32_t of_head, int32_t heads,
                           ConfigProblems& problems);

// Linear attention as a state mixer. The parameters are
// {query,key,value,output}.*, as in Linear. Depending on the options, there are
// also {query,key,value}_convolution.*, gate.weight, gate.bias, norm.weight,
// skip [heads, 1, 1] and decay.weight. The decay HEAD adds step_bias and
// decay_rate [heads]. The decay CHANNEL adds decay.bias and
// narrow_decay.weight.
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
  // Returns the logarithm of the decay, [rows, heads, time, 1 or key width], or
  // an empty Var if there is no decay. If the decay is HEAD, sets `step_size`
  // [rows, heads, time, 1].
  Var<T> LogDecay(Forward<T>& forward, Var<T> x, Var<T>* step_size) const;
  DecayedInputs<T> RecurrenceInputs(const MixerTerms<T>& terms,
                                    const LayerState<T>* state) const;
  // Converts the outputs of the recurrence to contexts, for Step() and Chunk().
  Var<T> Contexts(Forward<T>& forward, const MixerTerms<T>& terms,
                  const DecayedOutputs<T>& outputs, LayerState<T>* state) const;

  const Options options_;  // with all widths set
  const bool normalizes_;
  const int state_;  // slot of the state
  ConvolvedLinear<T> query_;
  ConvolvedLinear<T> key_;
  ConvolvedLinear<T> value_;
  LinearLayer<T> output_;
  std::optional<LinearLayer<T>> gate_;
  std::optional<NormLayer<T>> norm_;
  std::unique_ptr<PositionEncoding<T>> rotary_;
  Parameter<T> skip_;                           // empty unless `skip`
  std::optional<LearnedDecay<T>> head_decay_;   // set if the decay is HEAD
  std::optional<LinearLayer<T>> narrow_decay_;  // set if the decay is CHANNEL
  std::optional<LinearLayer<T>> decay_;         // set if the decay is CHANNEL
};

}  // namespace regard

#endif  // ATTENTION_MIXERS_LINEAR_ATTENTION_H_
