// The forgetting gate of attention (Lin et al., "Forgetting Transformer:
// softmax attention with a forget gate", 2025, arXiv 2503.02130). Each head has
// a gate for each position t, computed from the layer's input x, and a bias of
// scores
//
//   f_t    = sigmoid(w . x_t + b)
//   c_t    = log f_1 + .. + log f_t
//   s_ij' = s_ij + (c_i - c_j)     for keys j <= i.
//
// The difference is formed before it is added to a score, so the precision of
// the sum is lost only once. Where all gates are exactly 1 it is exactly 0:
// plain attention.
//
// A gate belongs to the attention layer. Scores do not know it. Positions have
// to follow one another from the first on, and queries and keys are the same
// positions: causal self-attention.
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
// "sum" of the last position, and "sums" of all.
template <typename T>
class ForgetGate {
 public:
  ForgetGate(const Forget& config, const ParameterScope<T>& scope,
             const ScoreWidths& widths);

  // The bias c_i - c_j for queries at the positions of x [batch, time, input].
  // They follow the positions in the state, which takes them, too. The keys are
  // at all positions of the state; at the positions of x if it is null. The
  // logarithms of the gates [batch, time, heads] are the hook point
  // "log_decays".
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
