// The additive score, w_v . tanh(W_q q + W_k k [+ b]). Bahdanau et al., "Neural
// machine translation by jointly learning to align and translate", 2015.
#ifndef ATTENTION_SCORING_ADDITIVE_H_
#define ATTENTION_SCORING_ADDITIVE_H_

#include <cstdint>

#include "attention/kernels/additive_scores.h"
#include "attention/scoring/additive.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// The additive score. Its parameters are w_q [heads, width, query width], w_k
// [heads, width, key width], w_v [heads, width] and optionally bias [heads,
// width]. Scores that add a term inside the tanh derive from this class.
template <typename T>
class Additive : public ScoringFunction<T> {
 public:
  using Options = AdditiveScore;
  static constexpr bool kPreparesOtherWidths = true;

  // `options` has the fields `width` and `bias`. A `width` of 0 means the width
  // of queries.
  Additive(const auto& options, ParameterScope<T> scope,
           const ScoreWidths& widths)
      : Additive(options.width(), options.bias(), scope, widths) {}

  // Returns W_k k + b: [batch, heads, keys, width].
  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& in) const override;

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return ScoreWith(forward, in, {});
  }

 protected:
  int64_t width() const { return width_; }

  // Returns w_v . tanh(W_q q + W_k k + b + term): [batch, heads, queries,
  // keys].
  Var<T> ScoreWith(Forward<T>& forward, const ScoreInputs<T>& in,
                   const AdditivePairTerm<T>& term) const;

 private:
  Additive(int64_t width, bool bias, ParameterScope<T> scope,
           const ScoreWidths& widths);

  int64_t width_;
  Parameter<T> w_q_, w_k_, w_v_, bias_;
};

}  // namespace regard

#endif  // ATTENTION_SCORING_ADDITIVE_H_
