// One learned row for each id: the parameter "weight" [vocabulary, width].
#ifndef NN_LAYERS_EMBEDDING_H_
#define NN_LAYERS_EMBEDDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {

template <typename T>
class EmbeddingLayer {
 public:
  EmbeddingLayer(const ParameterScope<T>& scope, int64_t vocabulary,
                 int64_t width,
                 const Initializer& initializer = EmbeddingDefault());
  // Shares the weight of another: "weight" is its second name.
  EmbeddingLayer(const ParameterScope<T>& scope, Parameter<T> shared);

  // ids, as many as `leading` has elements, each 0 .. vocabulary - 1
  // -> [leading.., width]. `ids` need not outlive the call.
  Var<T> operator()(Forward<T>& forward, absl::Span<const int32_t> ids,
                    const Shape& leading) const;

  Parameter<T> weight() const { return weight_; }

 private:
  Parameter<T> weight_;
};

}  // namespace regard

#endif  // NN_LAYERS_EMBEDDING_H_
