// The Transformer decoder: causal self-attention and, if there is a memory,
// attention to it. Without a memory it is a language model. Vaswani et al.,
// "Attention is all you need", 2017.
#ifndef SEQ2SEQ_TRANSFORMER_DECODER_H_
#define SEQ2SEQ_TRANSFORMER_DECODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/transformer/stack.h"
#include "attention/transformer/token_embedding.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_head.h"

namespace regard {

class TransformerConfig;

// The sites of a probe are those of its layers, in "decoder/layers[i]".
template <typename T>
class TransformerDecoder : public Decoder<T> {
 public:
  struct Options {
    // Width of the memory's values; 0: there is no cross-attention.
    int64_t memory_width = 0;
    int64_t vocabulary;
    SpecialIds special_ids = {};
    // With tied_embeddings: SOURCE_TARGET_OUTPUT, the weight of the source's
    // embedding.
    Parameter<T> source_embedding = {};
    AlignmentChoice alignment = {};
  };

  // `config` has passed ValidateTransformer(). Parameters in `scope` are those
  // of TokenEmbedding, "layers.*", "norm.*", and those of TransformerHead under
  // "output".
  TransformerDecoder(const TransformerConfig& config,
                     const AttentionRegistry& scorers, const Options& options,
                     const ParameterScope<T>& scope);

  // Of a memory without values, cross-attention is passed over.
  DecoderState<T> Begin(Forward<T>& forward,
                        const Memory<T>& memory) const override;
  // With config.recompute(), a whole target that is read at once with gradients
  // leaves no keys in the state: a further call fails a check.
  Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                 absl::Span<const int32_t> lengths,
                 DecoderState<T>* state) const override;
  const char* residual_sites() const override {
    return "decoder/layers[*]/*/residual";
  }
  Var<T> Finish(Forward<T>& forward, Var<T> residual) const override {
    return stack_.Finish(forward, residual);
  }
  const OutputHead<T>& head() const override { return head_; }
  int64_t longest_position() const override;
  int64_t longest_memory() const override;
  bool attends_to_memory() const override {
    return stack_.has_cross_attention();
  }
  AlignmentChoice alignment() const override { return alignment_; }

 private:
  const bool recompute_;
  const AlignmentChoice alignment_;
  TokenEmbedding<T> embedding_;
  TransformerStack<T> stack_;
  TransformerHead<T> head_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSFORMER_DECODER_H_
