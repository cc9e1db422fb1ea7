// A layer of a Transformer: self-attention, in decoders attention to a memory,
// and a feed-forward network, each a residual branch. Vaswani et al.,
// "Attention is all you need", 2017, section 3.1.
//
// Sites of a probe: "residual" in the scopes "self", "cross" and
// "feed_forward", what a branch leaves, and "feed_forward/feed_forward", what
// the network gives; "attention_output" in "self" and "cross", what an
// attention gives. Sites within attentions are in "self/attention" and
// "cross/attention".
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
  // Of self-attention. With keys of earlier positions, first_query is their
  // number. The mask lives until the backward pass.
  Mask mask = {};
  Positions positions = {};
  // Holds what the layer keeps of earlier positions, and takes that of x; null:
  // there are no earlier positions.
  LayerState<T>* state = nullptr;
  // Of cross-attention: PrepareMemory() of each source. A batch of `sources`
  // times n rows has n rows for each source, which are alternatives at one
  // position if memory_positions.query_step is 0. Empty: that branch is passed
  // over (as in BLIP's text encoder, whose `mode` is "text").
  PreparedSource<T> memory = {};
  Mask memory_mask = {};
  Positions memory_positions = {};
};

// Parameters: attention.* (as MultiHeadAttention's) or, with a state mixer,
// mixer.*; cross_attention.*, feed_forward.*, and of their norms
// attention_norm.*, cross_attention_norm.*, feed_forward_norm.*.
template <typename T>
class TransformerLayer {
 public:
  // Layer `index` of a valid config. memory_width 0: no cross-attention.
  // Declares what it keeps between steps in `slots`.
  TransformerLayer(const AttentionRegistry& scorers,
                   const TransformerConfig& config, int64_t index,
                   int64_t memory_width, const ParameterScope<T>& scope,
                   const SlotScope& slots);

  // memory [sources, time, memory width], once for all positions. Only with
  // cross-attention.
  PreparedSource<T> PrepareMemory(Forward<T>& forward, Var<T> memory) const;
  // Puts a prepared memory into the state, and finds it there; empty if there
  // is none.
  void KeepMemory(const PreparedSource<T>& memory, LayerState<T>* state) const;
  PreparedSource<T> KeptMemory(const LayerState<T>& state) const;

  // x [batch, time, width] -> the same shape.
  Var<T> operator()(Forward<T>& forward, Var<T> x,
                    const LayerInputs<T>& inputs) const;

  bool has_cross_attention() const { return cross_attention_.has_value(); }
  // kUnlimited if there is no limit, or no cross-attention.
  int64_t LongestDistance() const;
  int64_t LongestCrossDistance() const;

 private:
  Var<T> AttendToSelf(Forward<T>& forward, Var<T> x,
                      const LayerInputs<T>& inputs) const;
  Var<T> Mix(Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs) const;
  Var<T> AttendToMemory(Forward<T>& forward, Var<T> x,
                        const LayerInputs<T>& inputs) const;

  // Slots of a source and of its own positions.
  int memory_keys_ = 0;
  int memory_values_ = 0;
  int keys_ = 0;
  int values_ = 0;
  // One of the two.
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
