// The Transformer decoder: causal self-attention and, if there is a memory,
// cross-attention. Without a memory it is a language model. Vaswani et al.,
// "Attention is all you need", 2017.
#ifndef SEQ2SEQ_TRANSFORMER_DECODER_H_
#define SEQ2SEQ_TRANSFORMER_DECODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/transformer/input_embedding.h"
#include "attention/transformer/stack.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_head.h"

namespace regard {

class TransformerConfig;

// The hook points of layer i are in "decoder/layers[i]".
template <typename T>
class TransformerDecoder : public Decoder<T> {
 public:
  struct Options {
    // The width of the memory's values; 0 means no cross-attention.
    int64_t memory_width = 0;
    int64_t vocabulary;
    SpecialIds special_ids = {};
    // The weight of the source embedding. Required if tied_embeddings is
    // SOURCE_TARGET_OUTPUT.
    Parameter<T> source_embedding = {};
    AlignmentChoice alignment = {};
  };

  // `config` must have passed ValidateTransformer(). Adds the parameters of
  // InputEmbedding, "layers.*" and "norm.*" to `scope`, and the parameters of
  // TransformerHead under "output".
  TransformerDecoder(const TransformerConfig& config,
                     const AttentionRegistry& scorers, const Options& options,
                     const ParameterScope<T>& scope);

  // Cross-attention is skipped if the memory has no values.
  DecoderState<T> Begin(Forward<T>& forward,
                        const Memory<T>& memory) const override;
  // If config.recompute() is set and a whole target is read at once with
  // gradients, the state keeps no keys. A further call then fails a check.
  Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                 absl::Span<const int32_t> lengths,
                 DecoderState<T>* state) const override;
  const char* residual_sites() const override {
    return "decoder/layers[*]/*/residual";
  }
  Var<T> Finish(Forward<T>& forward, Var<T> residual) const override {
    return stack_.ApplyFinalNorm(forward, residual);
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
  InputEmbedding<T> embedding_;
  TransformerStack<T> stack_;
  TransformerHead<T> head_;
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSFORMER_DECODER_H_
