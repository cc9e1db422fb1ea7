#include "attention/scoring/additive.h"

#include "attention/scoring_kit.h"

namespace regard {

template <typename T>
Additive<T>::Additive(int64_t width, bool bias, ParameterScope<T> scope,
                      const ScoreWidths& widths)
    : width_(width > 0 ? width : widths.query) {
  w_q_ = scope.Add("w_q", {widths.heads, width_, widths.query},
                   XavierUniform(width_, widths.query));
  w_k_ = scope.Add("w_k", {widths.heads, width_, widths.key},
                   XavierUniform(width_, widths.key));
  w_v_ = scope.Add("w_v", {widths.heads, width_}, XavierUniform(1, width_));
  if (!bias) return;
  bias_ = scope.Add("bias", {widths.heads, width_}, Zeros(),
                    {.role = ParameterRole::kHeadBias});
}

template <typename T>
Var<T> Additive<T>::Prepare(Forward<T>& forward,
                            const PrepareInputs<T>& in) const {
  const Var<T> projected = ProjectHeads(in.keys, forward[w_k_]);
  if (!bias_.has_value()) return projected;
  const Var<T> bias = forward[bias_];
  return projected + bias.Reshape({bias.dim(0), 1, width_});
}

template <typename T>
Var<T> Additive<T>::ScoreWith(Forward<T>& forward, const ScoreInputs<T>& in,
                              const AdditivePairTerm<T>& term) const {
  return AdditiveScores(ProjectHeads(in.queries, forward[w_q_]), in.keys,
                        forward[w_v_], in.mask, in.positions, term);
}

REGARD_INSTANTIATE_CLASS(Additive);
REGARD_SCORING_FUNCTION(Additive, "w_v . tanh(W_q q + W_k k)")

}  // namespace regard
