// BERT: a Transformer encoder of one text or a pair of texts (Devlin et al.,
// 2019).
//
// Its layers are TransformerLayers with norms after the branches. They provide
// hook points, relative positions, caches, attention to a memory, and
// feed-forward networks that are computed in chunks.
#ifndef LANGUAGE_BERT_H_
#define LANGUAGE_BERT_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/transformer/input_embedding.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/stack.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

class BertConfig;
class TransformerConfig;

// Returns the published defaults with config.transformer() merged into them.
TransformerConfig BertTransformer(const BertConfig& config);

// Validates all fields except masked_words. Paths are relative to `config`.
void ValidateBert(const BertConfig& config, const AttentionRegistry& scorers,
                  ConfigProblems& problems);

struct BertBatch {
  int64_t size = 0;
  absl::Span<const int32_t> ids = {};    // [size, time]
  absl::Span<const int32_t> types = {};  // [size, time]; empty means all 0
  // The length of each row, [size]. Ids after this length do not affect the
  // outputs before it. If empty, all rows have the length of the batch.
  absl::Span<const int32_t> lengths = {};
};

// Has the parameters of InputEmbedding with types, "layers.*", and
// "pooler.{weight,bias}".
template <typename T>
class Bert {
 public:
  // `config` must have passed ValidateBert().
  Bert(const BertConfig& config, const AttentionRegistry& scorers,
       int64_t vocabulary, const ParameterScope<T>& scope);

  // Returns the outputs, [size, time, width]. `inputs` are passed to the
  // layers. The lengths of `batch` replace the lengths of the mask in `inputs`.
  Var<T> operator()(Forward<T>& forward, const BertBatch& batch,
                    LayerInputs<T> inputs = {}) const;

  // Maps outputs [size, time, width] to [size, width]. Requires a pooler.
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
  InputEmbedding<T> embedding_;
  TransformerStack<T> stack_;
  std::optional<LinearLayer<T>> pooler_;
};

}  // namespace regard

#endif  // LANGUAGE_BERT_H_
