// The forget gate of attention (Lin et al., "Forgetting Transformer: softmax
// attention with a forget gate", 2025, arXiv 2503.02130). Each head computes a
// gate f_t from the layer's input x_t at each position t. The gates add a bias
// to the scores.
//
//   f_t    = sigmoid(w . x_t + b)
//   c_t    = log f_1 + .. + log f_t
//   s_ij' = s_ij + (c_i - c_j)     for keys j <= i.
//
// The difference c_i - c_j is computed first. This loses less precision than
// first adding c_i and then subtracting c_j. If all gates are exactly 1, the
// difference is exactly 0, and the layer is plain attention.
//
// The gate belongs to the attention layer. It works with every score,
// normalizer, score map and position encoding, and the model needs no position
// embedding. The gate requires causal self-attention, in which queries and keys
// have the same successive positions. A decoder keeps one number for each head
// and position.
#ifndef ATTENTION_FORGET_GATE_H_
#define ATTENTION_FORGET_GATE_H_

#include "attention/forget.pb.h"
#include "attention/kernels/difference_bias.h"
#include "attention/layer_state.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// Parameters: "weight" [heads, input] and "bias" [heads]. Slots of the state:
// "sum", the value of c at the last position, and "sums", all values of c.
template <typename T>
class ForgetGate {
 public:
  ForgetGate(const Forget& config, const ParameterScope<T>& scope,
             const ScoreWidths& widths);

  // Returns the bias c_i - c_j for queries at the positions of x [batch, time,
  // input]. Without a state, the keys are at the same positions. With a state,
  // x follows the positions in the state, and the keys are at all of these
  // positions. c is appended to the state. The logarithms of the gates, [batch,
  // time, heads], are the hook point "log_decays".
  DifferenceBias<T> Bias(Forward<T>& forward, Var<T> x,
                         LayerState<T>* state) const;

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;
  int sum_;
  int sums_;
};

}  // namespace regard

#endif  // ATTENTION_FORGET_GATE_H_
