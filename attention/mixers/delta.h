// The delta rule. Each head has a state S, which stores values for keys. Each
// position replaces the value that S stores for the key of the position.
//
//   S_t = (I - b_t k_t k_t^T) diag(exp(g_t)) S_{t-1} + b_t k_t v_t^T,
//   o_t = S_t^T q_t
//
// Schlag et al., "Linear transformers are secretly fast weight programmers",
// 2021; Yang et al., "Parallelizing linear transformers with the delta rule
// over sequence length", 2024. delta_net, gated_delta and kda are presets of
// the options.
#ifndef ATTENTION_MIXERS_DELTA_H_
#define ATTENTION_MIXERS_DELTA_H_

#include <cstdint>
#include <optional>

#include "attention/layer_state.h"
#include "attention/mixers/delta_recurrence.h"
#include "attention/mixers/learned_decay.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/mixers/short_convolution.h"
#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "options/config_problems.h"

namespace regard {

// The delta rule as a state mixer. The parameters are
// {query,key,value,rate,output}.weight and norm.weight. Depending on the
// options, there are also {query,key,value}_convolution.*, the parameters of
// LearnedDecay, gate.weight, gate.bias and narrow_gate.weight.
template <typename T>
class Delta : public StateMixer<T> {
 public:
  using Options = DeltaMixer;

  Delta(const Options& options, const MixerSetup<T>& setup);

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
  enum Other { kRates, kLogDecay, kGate };

  DeltaInputs<T> RecurrenceInputs(const MixerTerms<T>& terms,
                                  const LayerState<T>* state) const;

  const Options options_;  // with all widths set
  const int state_;        // slot of the state
  ConvolvedLinear<T> query_;
  ConvolvedLinear<T> key_;
  ConvolvedLinear<T> value_;
  LinearLayer<T> rate_;
  LinearLayer<T> output_;
  NormLayer<T> norm_;
  std::optional<LearnedDecay<T>> decay_;
  std::optional<LinearLayer<T>> narrow_gate_;
  std::optional<LinearLayer<T>> gate_;
};

// Base class of presets. `Choice::FullOptions(options, width)` returns the
// options of the delta rule, except heads, eigenvalues and convolution.
// `Choice::ValidateWidths(options, width, problems)` returns whether the
// options have valid widths.
template <typename T, typename Config, typename Choice>
class DeltaPresetBase : public Delta<T> {
 public:
  using Options = Config;

  DeltaPresetBase(const Options& options, const MixerSetup<T>& setup)
      : Delta<T>(Full(options, setup.width), setup) {}

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() == before &&
        Choice::ValidateWidths(options, width, problems)) {
      Delta<T>::Validate(Full(options, width), width, problems);
    }
  }

 private:
  static DeltaMixer Full(const Options& options, int64_t width) {
    DeltaMixer full = Choice::FullOptions(options, width);
    full.set_heads(options.heads());
    full.set_eigenvalues(options.eigenvalues());
    *full.mutable_convolution() = options.convolution();  // width 4 by default
    return full;
  }
};

}  // namespace regard

#endif  // ATTENTION_MIXERS_DELTA_H_
