#include "attention/query_key_norm.h"

#include <cmath>

#include "autodiff/ops/elementwise.h"

namespace regard {

template <typename T>
QueryOrKeyNorm<T>::QueryOrKeyNorm(const QueryKeyNormConfig& config,
                                  const ParameterScope<T>& scope, int64_t heads,
                                  int64_t width)
    : width_(config.all_heads() ? heads * width : width),
      factor_(config.kind() == QueryKeyNormConfig::L2_NORM
                  ? T(1) / std::sqrt(static_cast<T>(width_))
                  : T(1)) {
  if (config.kind() == QueryKeyNormConfig::NONE) return;
  norm_.emplace(
      scope, width_,
      NormOptions{.rms = config.kind() != QueryKeyNormConfig::LAYER_NORM,
                  .epsilon = config.epsilon(),
                  .bias = false});
}

template <typename T>
Var<T> QueryOrKeyNorm<T>::operator()(Forward<T>& forward, Var<T> x) const {
  if (!norm_.has_value()) return x;
  const Shape shape = x.shape();
  const Var<T> rows =
      x.Reshape({shape[0], shape[1], shape[2] / width_, width_});
  const Var<T> y = (*norm_)(forward, rows).Reshape(shape);
  return factor_ == T(1) ? y : y * factor_;
}

REGARD_INSTANTIATE_CLASS(QueryOrKeyNorm);

}  // namespace regard
