#include "nn/embedding.h"

#include <cstdint>

#include "autodiff/ops/gather.h"

namespace regard {

template <typename T>
Embedding<T>::Embedding(const ParameterScope<T>& scope, int64_t vocabulary,
                        int64_t width, const Initializer& initializer)
    : weight_(scope.Add("weight", {vocabulary, width}, initializer,
                        {.sparse_gradient = true})) {}

template <typename T>
Var<T> Embedding<T>::operator()(Forward<T>& forward,
                                absl::Span<const int32_t> ids,
                                const Shape& leading) const {
  return GatherRows(forward[weight_], ids, leading);
}

template class Embedding<float>;
template class Embedding<double>;

}  // namespace regard
