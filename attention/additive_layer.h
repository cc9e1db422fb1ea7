// The parameters of additive scores: the hidden layer W_q q + W_k k + b, and
// the vector w_v that multiplies its tanh.
#ifndef ATTENTION_ADDITIVE_LAYER_H_
#define ATTENTION_ADDITIVE_LAYER_H_

#include <cstdint>

#include "attention/kernels/additive_scores.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// Parameters w_q [heads, width, query width], w_k [heads, width, key width],
// w_v [heads, width] and, if wanted, bias [heads, width].
template <typename T>
class AdditiveLayer {
 public:
  // A width of 0 means the query's.
  AdditiveLayer(int64_t width, bool bias, ParameterScope<T> scope,
                const ScoreWidths& widths);

  // For options with a field `width`.
  static void Validate(const auto& options, ConfigProblems& problems) {
    problems.RequireInRange("width", options.width(), 0, 65536);
  }

  int64_t width() const { return width_; }

  // W_k k + b: [batch, heads, keys, width].
  Var<T> Keys(Forward<T>& forward, Var<T> keys) const;

  // w_v . tanh(W_q q + W_k k + b + term), for keys from Keys().
  Var<T> Scores(Forward<T>& forward, const ScoreInputs<T>& in,
                const AdditivePairTerm<T>& term = {}) const;

 private:
  int64_t width_;
  Parameter<T> w_q_, w_k_, w_v_, bias_;
};

}  // namespace regard

#endif  // ATTENTION_ADDITIVE_LAYER_H_
