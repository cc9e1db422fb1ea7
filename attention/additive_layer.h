// The hidden layer that additive scores share, W_q q + W_k k + b, and the
// vector that reads it.
#ifndef ATTENTION_ADDITIVE_LAYER_H_
#define ATTENTION_ADDITIVE_LAYER_H_

#include <cstdint>

#include "attention/scoring_function.h"
#include "autodiff/tape.h"
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

  int64_t width() const { return width_; }

  // W_k k + b: [batch, heads, keys, width].
  Var<T> Keys(Forward<T>& forward, Var<T> keys) const;
  // W_q q: [batch, heads, queries, width].
  Var<T> Queries(Forward<T>& forward, Var<T> queries) const;
  // w_v: [heads, width].
  Var<T> Vector(Forward<T>& forward) const { return forward[w_v_]; }

  // w_v . tanh(W_q q + W_k k + b + term), where `term` has a row for each pair
  // of query and key, [batch, heads, queries * keys, width].
  Var<T> Scores(Forward<T>& forward, const ScoreInputs<T>& in,
                Var<T> term) const;

 private:
  int64_t width_;
  Parameter<T> w_q_, w_k_, w_v_, bias_;
};

extern template class AdditiveLayer<float>;
extern template class AdditiveLayer<double>;

}  // namespace regard

#endif  // ATTENTION_ADDITIVE_LAYER_H_
