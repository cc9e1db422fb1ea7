// Input embeddings of a Transformer: the sum of token embeddings, which may be
// scaled, position embeddings, and type embeddings if there are any. The sum
// may be normalized.
#ifndef ATTENTION_TRANSFORMER_INPUT_EMBEDDING_H_
#define ATTENTION_TRANSFORMER_INPUT_EMBEDDING_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attention/transformer/position_embedding.h"
#include "attention/transformer/residual.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/parameters.h"

namespace regard {

class TransformerConfig;

// Parameters:
//
//   embedding.weight             [vocabulary, width]
//   position_embedding.weight    if positions are learned
//   type_embedding.weight        [types, width], if there are types
//   embedding_norm.*             with config.embedding_norm()
template <typename T>
class InputEmbedding {
 public:
  // `shared`, if present, is the weight of another embedding of the same ids.
  InputEmbedding(const TransformerConfig& config, int64_t vocabulary,
                 const ParameterScope<T>& scope, Parameter<T> shared = {},
                 int64_t types = 0);

  // ids [batch, time] -> [batch, time, width]. The first position of each row
  // is `first`. If the embedding has types, `types` is [batch, time]. If
  // `types` is empty, all types are 0.
  Var<T> operator()(Forward<T>& forward, absl::Span<const int32_t> ids,
                    int64_t batch, int64_t first,
                    absl::Span<const int32_t> types = {}) const;

  int64_t longest_position() const { return positions_.longest_position(); }
  Parameter<T> weight() const { return embedding_.weight(); }

 private:
  EmbeddingLayer<T> embedding_;
  PositionEmbedding<T> positions_;
  std::optional<EmbeddingLayer<T>> types_;
  std::optional<Norm<T>> norm_;
  T scale_;
  T dropout_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_INPUT_EMBEDDING_H_
