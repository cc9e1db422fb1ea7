// A Transformer layer. Its residual branches are self-attention or a state
// mixer, cross-attention to a memory in decoders, and a feed-forward network.
// Vaswani et al., "Attention is all you need", 2017, section 3.1.
//
// Hook points:
//
//   {self,cross,feed_forward}/residual   output of a residual branch
//   {self,cross}/attention_output        output of the attention
//   {self,cross}/attention/..            inside the attention
//   feed_forward/feed_forward            output of the network
#ifndef ATTENTION_TRANSFORMER_LAYER_H_
#define ATTENTION_TRANSFORMER_LAYER_H_

#include <cstdint>
#include <optional>

#include "attention/attention_registry.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/mixer_layer.h"
#include "attention/multi_head.h"
#include "attention/positions.h"
#include "attention/transformer/feed_forward.h"
#include "attention/transformer/residual.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

class TransformerConfig;

template <typename T>
struct LayerInputs {
  // Mask and positions of self-attention. If the state has earlier positions,
  // first_query is their number. The mask must live until the backward pass.
  Mask mask = {};
  Positions positions = {};
  // The state after earlier positions, to which the layer adds the positions of
  // x. Null if there are no earlier positions.
  LayerState<T>* state = nullptr;
  // The result of PrepareMemory() for all sources, for cross-attention. With n
  // rows for each source, the batch has sources * n rows. The rows of a source
  // are alternatives at one position if memory_positions.query_step is 0. If
  // `memory` is empty, the layer skips cross-attention, as BLIP's text encoder
  // with mode "text" does.
  PreparedSource<T> memory = {};
  Mask memory_mask = {};
  Positions memory_positions = {};
};

// Parameters:
//
//   attention.*          as in MultiHeadAttention
//   mixer.*              with a state mixer, in place of attention.*
//   cross_attention.*
//   feed_forward.*
//   attention_norm.*, cross_attention_norm.*, feed_forward_norm.*
template <typename T>
class TransformerLayer {
 public:
  // Constructs layer `index` of a valid config. memory_width 0 means no
  // cross-attention. Declares the slots of the layer's state in `slots`.
  TransformerLayer(const AttentionRegistry& scorers,
                   const TransformerConfig& config, int64_t index,
                   int64_t memory_width, const ParameterScope<T>& scope,
                   const SlotScope& slots);

  // Prepares memory [sources, time, memory width], once for all positions.
  // Requires cross-attention.
  PreparedSource<T> PrepareMemory(Forward<T>& forward, Var<T> memory) const;
  // StoreMemory() stores a prepared memory in the state. StoredMemory() returns
  // it, or an empty source if none was stored.
  void StoreMemory(const PreparedSource<T>& memory, LayerState<T>* state) const;
  PreparedSource<T> StoredMemory(const LayerState<T>& state) const;

  // x [batch, time, width] -> the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    const LayerInputs<T>& inputs) const;

  bool has_cross_attention() const { return cross_attention_.has_value(); }
  // The largest distances that self-attention and cross-attention accept.
  // kUnlimited if there is no limit, or if the layer lacks this attention.
  int64_t MaxDistance() const;
  int64_t MaxCrossDistance() const;

 private:
  Var<T> SelfAttentionBranch(Forward<T>& forward, Var<T> x,
                             const LayerInputs<T>& inputs) const;
  Var<T> StateMixerBranch(Forward<T>& forward, Var<T> x,
                          const LayerInputs<T>& inputs) const;
  Var<T> CrossAttentionBranch(Forward<T>& forward, Var<T> x,
                              const LayerInputs<T>& inputs) const;

  // Slots of the prepared memory, and of the layer's own positions.
  int memory_keys_ = 0;
  int memory_values_ = 0;
  int keys_ = 0;
  int values_ = 0;
  // Exactly one of `attention_` and `mixer_` is present.
  std::optional<MultiHeadAttention<T>> attention_;
  std::optional<MixerLayer<T>> mixer_;
  Residual<T> attention_branch_;
  std::optional<MultiHeadAttention<T>> cross_attention_;
  std::optional<Residual<T>> cross_branch_;
  // Absent with feed_forward { none {} }.
  std::optional<FeedForward<T>> feed_forward_;
  std::optional<Residual<T>> feed_forward_branch_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_LAYER_H_
