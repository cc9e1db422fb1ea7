// What a Transformer's first layer reads of token ids: their embeddings, scaled
// if wanted, plus those of their positions.
#ifndef ATTENTION_TRANSFORMER_TOKEN_EMBEDDING_H_
#define ATTENTION_TRANSFORMER_TOKEN_EMBEDDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/transformer/position_embedding.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/parameters.h"

namespace regard {

// Parameters: "embedding.weight" [vocabulary, width] and, if positions are
// learned, "position_embedding.weight".
template <typename T>
class TokenEmbedding {
 public:
  // `shared`, if given, is the weight of another embedding of the same ids.
  TokenEmbedding(const TransformerConfig& config, int64_t vocabulary,
                 const ParameterScope<T>& scope, Parameter<T> shared = {});

  // ids [batch, time], the first of each row at position `first` -> [batch,
  // time, width].
  Var<T> operator()(Forward<T>& forward, absl::Span<const int32_t> ids,
                    int64_t batch, int64_t first) const;

  int64_t longest_position() const { return positions_.longest_position(); }
  Parameter<T> weight() const { return embedding_.weight(); }

 private:
  EmbeddingLayer<T> embedding_;
  PositionEmbedding<T> positions_;
  T scale_;
  T dropout_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_TOKEN_EMBEDDING_H_
