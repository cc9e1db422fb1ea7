// A convolution over successive positions, each channel by itself, which reads
// no later position:
//
//   y[t, c] = silu(sum_{i < n} w[c, i] x[t - n + 1 + i, c] + b[c])
//
// It follows the projections of queries, keys and values. Fu et al., "Hungry
// hungry hippos", 2023; Gu and Dao, "Mamba", 2023; Yang et al., "Parallelizing
// linear transformers with the delta rule over sequence length", 2024.
#ifndef ATTENTION_MIXERS_SHORT_CONVOLUTION_H_
#define ATTENTION_MIXERS_SHORT_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "attention/layer_state.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"

namespace regard {

// The sum above without a bias, of x [rows, time, channels] and weight
// [channels, n]. Positions before the first are 0.
template <typename T>
Var<T> CausalConvolution(Var<T> x, Var<T> weight);

// x sigmoid(x).
template <typename T>
Var<T> Silu(Var<T> x);

// Parameters: weight [channels, n] and, as chosen, bias [channels].
template <typename T>
class ShortConvolution {
 public:
  // `name` is the scope of the parameters and of the slot, which holds the last
  // n - 1 inputs.
  ShortConvolution(const MixerSetup<T>& setup, const std::string& name,
                   int64_t channels, const ConvolutionConfig& options);

  // x [rows, time, channels] -> the same shape. Goes on from the state, if
  // there is one, and keeps in it what later positions read.
  Var<T> operator()(Forward<T>& forward, Var<T> x, LayerState<T>* state) const;

 private:
  const int64_t before_;  // n - 1
  const int slot_;
  Parameter<T> weight_;
  Parameter<T> bias_;  // may be absent
};

// A linear map and, with a width above 0, a ShortConvolution after it.
// Parameters: NAME.* as Linear's, and NAME_convolution.*.
template <typename T>
class ConvolvedLinear {
 public:
  ConvolvedLinear(const MixerSetup<T>& setup, const std::string& name,
                  int64_t outputs, const LinearOptions& linear,
                  const ConvolutionConfig& convolution);

  Var<T> operator()(Forward<T>& forward, Var<T> x, LayerState<T>* state) const;

 private:
  LinearLayer<T> linear_;
  std::optional<ShortConvolution<T>> convolution_;
};

}  // namespace regard

#endif  // ATTENTION_MIXERS_SHORT_CONVOLUTION_H_
