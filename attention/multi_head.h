// Multi-head attention with any score (Vaswani et al., "Attention is all you
// need", 2017). Projects the inputs, splits them into heads, attends in each
// head, joins the contexts, and projects the result. A head output
// (head_output.h) may come before the last projection. With `latent`, keys and
// values are computed from latents (latent.h).
//
//   MultiHeadAttention<T> self(scorers, config, scope, {512, 512, 512});
//   Var<T> y = self(forward, x, self.Prepare(forward, x, x),
//                   {.mask = {.key_lengths = lengths}});
//
// Hook point: "head_output" [batch, queries, columns], the input of the output
// projection, if there is a head output.
#ifndef ATTENTION_MULTI_HEAD_H_
#define ATTENTION_MULTI_HEAD_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "attention/attend.h"
#include "attention/attention_registry.h"
#include "attention/head_output.h"
#include "attention/latent.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "attention/query_key_norm.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

class MultiHead;

// [batch, time, width] -> [batch, heads, time, width / heads]. The columns of
// head h begin at column h * width / heads. `heads` must divide the width.
template <typename T>
Var<T> SplitHeads(Var<T> x, int64_t heads);

// The inverse of SplitHeads: [batch, heads, time, d] -> [batch, time,
// heads * d].
template <typename T>
Var<T> MergeHeads(Var<T> x);

struct MultiHeadInputWidths {
  int64_t query = 0;
  int64_t key = 0;
  int64_t value = 0;
  // Scope of the slots of a state. See ScoreWidths::slots.
  const SlotScope* slots = nullptr;
};

// The keys and values of a source, prepared once for all queries. A source may
// be prepared in successive parts. Joined along axis -2, the axis of keys, the
// parts equal the source prepared at once.
template <typename T>
struct PreparedSource {
  // The keys as the score prepares them:
  //
  //   [batch, key heads, keys, width]   if the score has kGroupedHeads
  //   [batch, heads, keys, width]       otherwise
  //   [batch, keys, key heads * width]  if the attention reads heads side by
  //                                     side, as it reads `values` then too
  //
  // For a hook, Prepare() may split heads that would be side by side.
  //
  // With `latent`, `keys` are the rotary parts, [batch, 1, keys, rotary width],
  // and `values` are the latents, [batch, 1, keys, rank].
  Var<T> keys;
  Var<T> values;  // [batch, value heads, keys, value width]
};

// Initial values of the projections. The config determines which projections
// have biases.
struct MultiHeadInitialization {
  LinearOptions inputs = {.initialization =
                              XavierUniform};  // query, key, value
  LinearOptions output = {.initialization = XavierUniform};
};

template <typename T>
struct MultiHeadInputs {
  Mask mask = {};  // the same for all heads
  // Positions of queries and keys. With a cache, first_query is the number of
  // earlier positions.
  Positions positions = {};
  // The state that the layer keeps between calls. See ScoreInputs::state. If
  // keys were prepared in parts with a state, pass the same state here.
  LayerState<T>* state = nullptr;
};

// Whether the config computes keys and values from latents.
bool HasLatent(const MultiHead& config);

// Adds the problems of `config` to `problems`, under paths relative to
// `config`.
void ValidateMultiHead(const AttentionRegistry& scorers,
                       const MultiHead& config,
                       const MultiHeadInputWidths& widths,
                       ConfigProblems& problems);

// Parameters:
//
//   {query,key,value,output}.{weight,bias}   shaped as in Linear
//   {query,key}_norm.weight                  with a norm
//   score.*, head_output.*                   of the score and the head output
//
// `query` has heads * head width outputs, `key` has key heads * head width, and
// `value` has value heads * value width.
//
// With `latent`, the parameters of LatentKeyValueLayer are added. `key` and
// `value` then map latents and have no bias, and `query` has heads * (head
// width + rotary width) outputs.
template <typename T>
class MultiHeadAttention {
 public:
  // `config` must have passed ValidateMultiHead().
  MultiHeadAttention(const AttentionRegistry& scorers, const MultiHead& config,
                     const ParameterScope<T>& scope,
                     const MultiHeadInputWidths& widths,
                     const MultiHeadInitialization& initialization = {});

  // Prepares keys [batch, keys, key width] and values [batch, keys, value
  // width]. The first key is at `key_position`. Sources prepared in parts may
  // be joined along the keys. If the attention declares slots, preparing a
  // source in parts requires a state. With `latent`, `keys` and `values` must
  // be the same Var.
  PreparedSource<T> Prepare(Forward<T>& forward, Var<T> keys, Var<T> values,
                            int64_t key_position = 0,
                            LayerState<T>* state = nullptr) const;

  // queries [batch, queries, query width] -> [batch, queries, output width].
  Var<T> operator()(Forward<T>& forward, Var<T> queries,
                    const PreparedSource<T>& source,
                    const MultiHeadInputs<T>& inputs) const;

  int64_t MaxDistance() const { return attention_.MaxDistance(); }
  int64_t heads() const { return extents_.heads; }

 private:
  // Whether keys and values keep their heads side by side, as projections write
  // them.
  bool ReadsHeadsSideBySide() const;
  // The contexts of the heads, [batch, queries, heads * value width].
  Var<T> AttendWithLatents(Forward<T>& forward, Var<T> queries,
                           const PreparedSource<T>& source,
                           const MultiHeadInputs<T>& inputs) const;
  // context [batch, queries, heads * value width] and the layer's input x ->
  // [batch, queries, output width].
  Var<T> Project(Forward<T>& forward, Var<T> context, Var<T> x) const;

  HeadOutputWidths extents_;
  std::unique_ptr<HeadOutput<T>> head_output_;  // may be null
  std::optional<LatentKeyValueLayer<T>> latent_;
  LinearLayer<T> query_;
  LinearLayer<T> key_;
  LinearLayer<T> value_;
  LinearLayer<T> output_;
  std::optional<QueryOrKeyNorm<T>> query_norm_;
  std::optional<QueryOrKeyNorm<T>> key_norm_;
  AttentionLayer<T> attention_;
};

}  // namespace regard

#endif  // ATTENTION_MULTI_HEAD_H_
