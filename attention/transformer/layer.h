// A layer of a Transformer: self-attention, in decoders attention to a memory,
// and a feed-forward network, each a residual branch. Vaswani et al.,
// "Attention is all you need", 2017, section 3.1.
//
// Sites of a probe: "residual" in the scopes "self", "cross" and
// "feed_forward", what a branch leaves, and "feed_forward/feed_forward", what
// the network gives; those of the attentions are in "self/attention" and
// "cross/attention".
#ifndef ATTENTION_TRANSFORMER_LAYER_H_
#define ATTENTION_TRANSFORMER_LAYER_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "attention/attention_registry.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/positions.h"
#include "attention/transformer/feed_forward.h"
#include "attention/transformer/residual.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

template <typename T>
struct LayerInputs {
  // Of self-attention. With keys of earlier positions, first_query is their
  // number. The mask lives until the backward pass.
  Mask mask = {};
  Positions positions = {};
  // Adds the prepared keys and values of x to those of earlier positions, and
  // returns all; null: x attends to itself alone. Called once, with the index
  // of the layer.
  const absl::FunctionRef<PreparedSource<T>(
      int64_t layer, const PreparedSource<T>& part)>* append_to_cache = nullptr;
  // Of cross-attention: PrepareMemory() of each source. A batch of `sources`
  // times n rows has n rows for each source, which are alternatives at one
  // position if memory_positions.query_step is 0. Empty: that branch is passed
  // over (as in BLIP's text encoder, whose `mode` is "text").
  PreparedSource<T> memory = {};
  Mask memory_mask = {};
  Positions memory_positions = {};
};

// Parameters: attention.* (as MultiHeadAttention's), cross_attention.*,
// feed_forward.*, and of their norms attention_norm.*, cross_attention_norm.*,
// feed_forward_norm.*.
template <typename T>
class TransformerLayer {
 public:
  // Layer `index` of a valid config. memory_width 0: no cross-attention.
  TransformerLayer(const AttentionRegistry& scorers,
                   const TransformerConfig& config, int64_t index,
                   int64_t memory_width, const ParameterScope<T>& scope);

  // memory [sources, time, memory width], once for all positions. Only with
  // cross-attention.
  PreparedSource<T> PrepareMemory(Forward<T>& forward, Var<T> memory) const;

  // x [batch, time, width] -> the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    const LayerInputs<T>& inputs) const;

  bool has_cross_attention() const { return cross_attention_.has_value(); }
  // kUnlimited if there is no limit, or no cross-attention.
  int64_t LongestDistance() const;
  int64_t LongestCrossDistance() const;

 private:
  Var<T> AttendToMemory(Forward<T>& forward, Var<T> x,
                        const LayerInputs<T>& inputs) const;

  const int64_t index_;
  MultiHeadAttention<T> attention_;
  Residual<T> attention_branch_;
  std::optional<MultiHeadAttention<T>> cross_attention_;
  std::optional<Residual<T>> cross_branch_;
  // Absent with feed_forward { none {} }.
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<Residual<T>> feed_forward_branch_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_LAYER_H_
