// BERT: a Transformer encoder of one text or a pair (Devlin et al., 2019).
//
// Its layers are TransformerLayers of post-norm: sites of a probe, relative
// positions, caches, attention to a memory and feed-forward networks in chunks
// are theirs.
#ifndef LANGUAGE_BERT_H_
#define LANGUAGE_BERT_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/position_embedding.h"
#include "attention/transformer/residual.h"
#include "attention/transformer/stack.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "language/bert.pb.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "seq2seq/output_head.h"

namespace regard {

// config.transformer() over the published defaults.
TransformerConfig BertTransformer(const BertConfig& config);

// All but masked_words. Paths are relative to `config`.
void ValidateBert(const BertConfig& config, const AttentionRegistry& scorers,
                  ConfigProblems& problems);

struct BertBatch {
  int64_t size = 0;
  absl::Span<const int32_t> ids = {};    // [size, time]
  absl::Span<const int32_t> types = {};  // [size, time], or empty: all 0
  // Of each row, [size]: what is behind reaches nothing before it. Empty: all
  // are as long as the batch.
  absl::Span<const int32_t> lengths = {};
};

// Parameters: {embedding,position_embedding,type_embedding}.weight,
// embedding_norm.*, layers.*, and pooler.{weight,bias}.
template <typename T>
class Bert {
 public:
  // `config` has passed ValidateBert().
  Bert(const BertConfig& config, const AttentionRegistry& scorers,
       int64_t vocabulary, const ParameterScope<T>& scope);

  // -> [size, time, width]. `inputs` has what is passed on to the layers, but
  // for the mask of lengths.
  Var<T> operator()(Forward<T>& forward, const BertBatch& batch,
                    LayerInputs<T> inputs = {}) const;

  // hidden [size, time, width] -> [size, width]. Only with a pooler.
  Var<T> Pool(Forward<T>& forward, Var<T> hidden) const;

  int64_t width() const { return width_; }
  int64_t longest_position() const;
  bool has_pooler() const { return pooler_.has_value(); }
  const TransformerStack<T>& stack() const { return stack_; }
  Parameter<T> embedding() const { return embedding_.weight(); }

 private:
  Bert(const BertConfig& config, const TransformerConfig& transformer,
       const AttentionRegistry& scorers, int64_t vocabulary,
       const ParameterScope<T>& scope);

  int64_t width_;
  T dropout_;
  EmbeddingLayer<T> embedding_;
  PositionEmbedding<T> positions_;
  EmbeddingLayer<T> types_;
  Norm<T> norm_;
  TransformerStack<T> stack_;
  std::optional<LinearLayer<T>> pooler_;
};

// Which token stands where one is masked: W norm(f(V x + c)) + b with the
// activation f of the layers, where W is the embedding of tokens. Parameters:
// transform.{weight,bias}, norm.{weight,bias}, weight (an alias) and bias.
template <typename T>
class MaskedWordHead : public OutputHead<T> {
 public:
  MaskedWordHead(const BertConfig& config, const Bert<T>& bert,
                 const ParameterScope<T>& scope);

  int64_t vocabulary() const override { return vocabulary_; }
  SpecialIds special_ids() const override { return {-1, -1, -1}; }

 protected:
  Var<T> LogitsOf(Forward<T>& forward, Var<T> hidden) const override;
  // By blocks of rows: the logits never exist in full.
  Var<T> LossOf(Forward<T>& forward, Var<T> hidden,
                absl::Span<const int32_t> targets,
                const CrossEntropyOptions& options) const override;

 private:
  MaskedWordHead(const TransformerConfig& config, Parameter<T> embedding,
                 const ParameterScope<T>& scope);
  Var<T> Readout(Forward<T>& forward, Var<T> hidden) const;

  int64_t vocabulary_;
  FeedForwardConfig::Activation activation_;
  LinearLayer<T> transform_;
  Norm<T> norm_;
  Parameter<T> weight_;
  Parameter<T> bias_;
};

}  // namespace regard

#endif  // LANGUAGE_BERT_H_
