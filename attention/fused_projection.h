// Import of a projection that makes queries, keys and values at once, as many
// published checkpoints store it, into the separate projections of a layer.
#ifndef ATTENTION_FUSED_PROJECTION_H_
#define ATTENTION_FUSED_PROJECTION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/multi_head.h"
#include "nn/parameters.h"

namespace regard {

struct FusedProjection {
  // How the outputs follow one another, in rows of one head width each.
  enum class Order {
    // All queries, all keys, all values: GPT-2, timm's Vision Transformers.
    kQueryKeyValue,
    // For each key head, the queries that share it, its key and its value:
    // GPT-NeoX and BLOOM (one query each), Falcon (groups).
    kByHead,
  };

  // [outputs, inputs]; with `inputs_first`, [inputs, outputs], as GPT-2 has it.
  absl::Span<const float> weight = {};
  absl::Span<const float> bias = {};  // [outputs]; empty if there is none
  Order order = Order::kQueryKeyValue;
  bool inputs_first = false;
};

// Sets {query,key,value}.{weight,bias} of `layer`, whose parameters are those
// of `store` under the name `scope` ("" is the root). Sizes that do not fit,
// and a bias that only one of both has, are an InvalidArgumentError.
template <typename T>
absl::Status ImportFusedProjection(const FusedProjection& fused,
                                   const MultiHeadAttention<T>& layer,
                                   absl::string_view scope,
                                   ParameterStore<T>& store);

}  // namespace regard

#endif  // ATTENTION_FUSED_PROJECTION_H_
