// The Transformer encoder of sequence-to-sequence models: embeddings and a
// stack of layers of self-attention. Vaswani et al., "Attention is all you
// need", 2017.
#ifndef SEQ2SEQ_TRANSFORMER_ENCODER_H_
#define SEQ2SEQ_TRANSFORMER_ENCODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "attention/transformer/stack.h"
#include "attention/transformer/token_embedding.h"
#include "attention/transformer/transformer.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/encoder.h"
#include "seq2seq/memory.h"

namespace regard {

// The values of the memory are the outputs of the stack, [sources, time,
// width]; the summary is the mean of the valid ones. There is no final state.
template <typename T>
class TransformerEncoder : public Encoder<T> {
 public:
  // `config` has passed ValidateTransformer(). Parameters are "embedding.*",
  // "position_embedding.*", "layers.*" and "norm.*" in `scope`.
  TransformerEncoder(const TransformerConfig& config,
                     const ScorerRegistry& scorers, int64_t vocabulary,
                     const ParameterScope<T>& scope);

  Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                   absl::Span<const int32_t> lengths) const override;
  int64_t longest_position() const override;

  // The weight of the embedding [vocabulary, width], to be shared.
  Parameter<T> embedding() const { return embedding_.weight(); }

 private:
  TokenEmbedding<T> embedding_;
  TransformerStack<T> stack_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSFORMER_ENCODER_H_
