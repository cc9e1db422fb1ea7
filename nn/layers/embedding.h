// An embedding: a table with a learned row for each id. The parameter is
// "weight" [vocabulary, width].
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
  // Uses the weight of another layer. "weight" becomes a second name of this
  // parameter.
  EmbeddingLayer(const ParameterScope<T>& scope, Parameter<T> shared);

  // Maps ids to [leading.., width]. The number of ids is the size of `leading`.
  // Each id is in 0 .. vocabulary - 1. The layer does not keep `ids`.
  Var<T> operator()(Forward<T>& forward, absl::Span<const int32_t> ids,
                    const Shape& leading) const;

  Parameter<T> weight() const { return weight_; }

 private:
  Parameter<T> weight_;
};

}  // namespace regard

#endif  // NN_LAYERS_EMBEDDING_H_
