#include "nn/layers/embedding.h"

#include "autodiff/ops/gather.h"

namespace regard {

template <typename T>
EmbeddingLayer<T>::EmbeddingLayer(const ParameterScope<T>& scope,
                                  int64_t vocabulary, int64_t width,
                                  const Initializer& initializer)
    : weight_(scope.Add(
          "weight", {vocabulary, width}, initializer,
          {.role = ParameterRole::kEmbedding, .sparse_gradient = true})) {}

template <typename T>
EmbeddingLayer<T>::EmbeddingLayer(const ParameterScope<T>& scope,
                                  Parameter<T> shared)
    : weight_(shared) {
  scope.Alias("weight", shared);
}

template <typename T>
Var<T> EmbeddingLayer<T>::operator()(Forward<T>& forward,
                                     absl::Span<const int32_t> ids,
                                     const Shape& leading) const {
  return Gather(forward[weight_], ids, leading);
}

REGARD_INSTANTIATE_CLASS(EmbeddingLayer);

}  // namespace regard
