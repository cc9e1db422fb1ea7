// The feed-forward network of a Transformer layer, applied to each position.
//
//   W_output f(W_input x + b_input) + b_output
//
// where f is ReLU or GELU. With SwiGLU, f(W_input x + b_input) is replaced by
// silu(W_gate x + b_gate) * (W_input x + b_input).
#ifndef ATTENTION_TRANSFORMER_FEED_FORWARD_H_
#define ATTENTION_TRANSFORMER_FEED_FORWARD_H_

#include <cstdint>
#include <optional>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"

namespace regard {

class FeedForwardConfig;
class TransformerInitialization;
enum FeedForwardConfig_Activation : int;

// Applies any activation except SWIGLU, which has two operands.
template <typename T>
Var<T> Activate(FeedForwardConfig_Activation activation, Var<T> x);

// Parameters: {input,output}.{weight,bias}, and gate.{weight,bias} with SwiGLU.
template <typename T>
class FeedForward {
 public:
  // `config` comes from LayerConfig(), so `hidden` is not 0. `branches` is the
  // number of residual branches of the stack, on which initial values may
  // depend.
  FeedForward(const FeedForwardConfig& config,
              const TransformerInitialization& initialization, int64_t width,
              int64_t branches, const ParameterScope<T>& scope);

  // x [batch, time, width] -> the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  // Computes the network for x, whose first position is position `first` of a
  // longer input.
  Var<T> Compute(Forward<T>& forward, Var<T> x, int64_t first) const;

  FeedForwardConfig_Activation activation_;
  T dropout_;
  int64_t chunk_;
  LinearLayer<T> input_;
  std::optional<LinearLayer<T>> gate_;
  LinearLayer<T> output_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_FEED_FORWARD_H_
