// A causal convolution over successive positions, separate for each channel.
//
//   y[t, c] = silu(sum_{i < n} w[c, i] x[t - n + 1 + i, c] + b[c])
//
// The convolution follows the projections of queries, keys and values. Fu et
// al., "Hungry hungry hippos", 2023; Gu and Dao, "Mamba", 2023; Yang et al.,
// "Parallelizing linear transformers with the delta rule over sequence
// length", 2024.
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

// Returns the sum in the formula above, without the bias, for x [rows, time,
// channels] and weight [channels, n]. Values before the first position are 0.
template <typename T>
Var<T> CausalConvolution(Var<T> x, Var<T> weight);

// Returns x sigmoid(x).
template <typename T>
Var<T> Silu(Var<T> x);

// The convolution as a layer. The parameters are weight [channels, n] and, if
// set in the options, bias [channels].
template <typename T>
class ShortConvolution {
 public:
  // `name` is the scope of the parameters and the name of the state slot, which
  // stores the last n - 1 inputs.
  ShortConvolution(const MixerSetup<T>& setup, const std::string& name,
                   int64_t channels, const ConvolutionConfig& options);

  // Maps x [rows, time, channels] to the same shape. If `state` is not null,
  // continues from the inputs that it stores, and stores the inputs that later
  // positions need.
  Var<T> operator()(Forward<T>& forward, Var<T> x, LayerState<T>* state) const;

 private:
  const int64_t before_;  // n - 1
  const int slot_;
  Parameter<T> weight_;
  Parameter<T> bias_;  // empty without a bias
};

// A linear map, followed by a ShortConvolution if the width of the convolution
// is above 0. The parameters are NAME.*, as in Linear, and NAME_convolution.*.
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
