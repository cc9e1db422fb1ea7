// Scores of one hidden layer, w_v . tanh(W_q q + W_k k + b).
#ifndef ATTENTION_ADDITIVE_LAYER_H_
#define ATTENTION_ADDITIVE_LAYER_H_

#include <cstdint>

#include "attention/kernels/additive_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// w_v . tanh(W_q q + W_k k + b), and the base of scores that add a term within
// the tanh. Parameters w_q [heads, width, query width], w_k [heads, width, key
// width], w_v [heads, width] and, if wanted, bias [heads, width].
template <typename T>
class AdditiveLayer : public ScoringFunction<T> {
 public:
  // For options with the fields `width`, where 0 means the query's, and `bias`.
  AdditiveLayer(const auto& options, ParameterScope<T> scope,
                const ScoreWidths& widths)
      : AdditiveLayer(options.width(), options.bias(), scope, widths) {}

  // W_k k + b: [batch, heads, keys, width].
  Var<T> Prepare(Forward<T>& forward, Var<T> keys,
                 int64_t key_position) const override;

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return ScoreWith(forward, in, {});
  }

 protected:
  int64_t width() const { return width_; }

  // w_v . tanh(W_q q + W_k k + b + term).
  Var<T> ScoreWith(Forward<T>& forward, const ScoreInputs<T>& in,
                   const AdditivePairTerm<T>& term) const;

 private:
  AdditiveLayer(int64_t width, bool bias, ParameterScope<T> scope,
                const ScoreWidths& widths);

  int64_t width_;
  Parameter<T> w_q_, w_k_, w_v_, bias_;
};

}  // namespace regard

#endif  // ATTENTION_ADDITIVE_LAYER_H_
