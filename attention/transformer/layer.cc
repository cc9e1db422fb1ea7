#include "attention/transformer/layer.h"

#include <cstddef>

#include "absl/types/span.h"
#include "attention/state_mixer.h"
#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The number of residual branches of the whole stack, for scale_residual.
int64_t Branches(const AttentionRegistry& scorers,
                 const TransformerConfig& config, int64_t memory_width) {
  if (!config.initialization().scale_residual()) return 1;
  int64_t branches = config.layers() * (memory_width > 0 ? 3 : 2);
  for (int64_t i = 0; i < config.layers(); ++i) {
    const TransformerLayerConfig layer = LayerConfig(scorers, config, i);
    branches -= layer.feed_forward().has_none() ? 1 : 0;
  }
  return branches;
}

MultiHeadInitialization AttentionInitialization(
    const AttentionRegistry& scorers, const TransformerConfig& config,
    int64_t memory_width) {
  // The config of the attention determines which projections have biases.
  const TransformerInitialization& values = config.initialization();
  return {.inputs = LinearInitialization(values, /*bias=*/true),
          .output = BranchInitialization(
              values, /*bias=*/true, Branches(scorers, config, memory_width))};
}

// Marks the first lengths[i] positions of row i of x [rows, time, width].
template <typename T>
absl::Span<const uint8_t> ValidPositions(Tape<T>& tape, const Shape& x,
                                         absl::Span<const int32_t> lengths) {
  REGARD_CHECK_EQ(static_cast<int64_t>(lengths.size()), x[0])
      << "lengths of rows";
  uint8_t* const valid = tape.arena().template New<uint8_t>(x.rows());
  for (int64_t i = 0; i < x.rows(); ++i) {
    valid[i] = i % x[1] < lengths[static_cast<size_t>(i / x[1])] ? 1 : 0;
  }
  return {valid, static_cast<size_t>(x.rows())};
}

}  // namespace

template <typename T>
TransformerLayer<T>::TransformerLayer(const AttentionRegistry& scorers,
                                      const TransformerConfig& config,
                                      int64_t index, int64_t memory_width,
                                      const ParameterScope<T>& scope,
                                      const SlotScope& slots)
    : attention_branch_(config, index, scope.Sub("attention_norm")) {
  const TransformerLayerConfig parts = LayerConfig(scorers, config, index);
  const MultiHeadInitialization initialization =
      AttentionInitialization(scorers, config, memory_width);
  if (HasStateMixer(parts.mixer())) {
    mixer_.emplace(scorers.mixers, parts.mixer(),
                   MixerSetup<T>{scope.Sub("mixer"), config.width(), slots,
                                 initialization.inputs, initialization.output});
  } else {
    keys_ = slots.Add("keys");
    values_ = slots.Add("values");
    attention_.emplace(scorers, parts.attention(), scope.Sub("attention"),
                       MultiHeadInputWidths{config.width(), config.width(),
                                            config.width(), &slots},
                       initialization);
  }
  const FeedForwardConfig& network = parts.feed_forward();
  if (!network.has_none()) {
    feed_forward_.emplace(network, config.initialization(), config.width(),
                          Branches(scorers, config, memory_width),
                          scope.Sub("feed_forward"));
    feed_forward_branch_.emplace(config, index, scope.Sub("feed_forward_norm"));
  }
  if (memory_width == 0) return;
  memory_keys_ = slots.Add("memory keys");
  memory_values_ = slots.Add("memory values");
  cross_attention_.emplace(
      scorers, parts.cross_attention(), scope.Sub("cross_attention"),
      MultiHeadInputWidths{config.width(), memory_width, memory_width},
      initialization);
  cross_branch_.emplace(config, index, scope.Sub("cross_attention_norm"));
}

template <typename T>
PreparedSource<T> TransformerLayer<T>::PrepareMemory(Forward<T>& forward,
                                                     Var<T> memory) const {
  REGARD_CHECK(has_cross_attention()) << "a memory without cross-attention";
  const NameScope<T> scope(forward.tape(), "cross");
  return cross_attention_->Prepare(forward, memory, memory);
}

template <typename T>
void TransformerLayer<T>::StoreMemory(const PreparedSource<T>& memory,
                                      LayerState<T>* state) const {
  state->SetSourceValue(memory_keys_, memory.keys);
  state->SetSourceValue(memory_values_, memory.values);
}

template <typename T>
PreparedSource<T> TransformerLayer<T>::StoredMemory(
    const LayerState<T>& state) const {
  if (!has_cross_attention()) return {};
  return {state.SourceValue(memory_keys_), state.SourceValue(memory_values_)};
}

template <typename T>
Var<T> TransformerLayer<T>::SelfAttentionBranch(
    Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs) const {
  PreparedSource<T> source = attention_->Prepare(
      forward, x, x, inputs.positions.first_query, inputs.state);
  if (inputs.state != nullptr) {
    source = {inputs.state->Append(keys_, source.keys),
              inputs.state->Append(values_, source.values)};
  }
  return (*attention_)(forward, x, source,
                       {.mask = inputs.mask,
                        .positions = inputs.positions,
                        .state = inputs.state});
}

template <typename T>
Var<T> TransformerLayer<T>::StateMixerBranch(
    Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs) const {
  const Mask& mask = inputs.mask;
  REGARD_CHECK(mask.causal && mask.window == 0 && mask.dense.empty() &&
               mask.excluded.empty())
      << "a state mixer reads all earlier positions, and no others";
  MixerInputs<T> in = {.first_position = inputs.positions.first_query,
                       .state = inputs.state};
  if (!mask.key_lengths.empty()) {
    in.valid = ValidPositions(forward.tape(), x.shape(), mask.key_lengths);
  }
  return (*mixer_)(forward, x, in);
}

template <typename T>
Var<T> TransformerLayer<T>::CrossAttentionBranch(
    Forward<T>& forward, Var<T> x, const LayerInputs<T>& inputs) const {
  // All rows of a source become queries of one example.
  const int64_t sources = inputs.memory.keys.dim(0);
  REGARD_CHECK(sources > 0 && x.dim(0) % sources == 0)
      << x.dim(0) << " rows of " << sources << " sources";
  const Var<T> queries =
      x.Reshape({sources, x.dim(0) / sources * x.dim(1), x.dim(2)});
  return (*cross_attention_)(
             forward, queries, inputs.memory,
             {.mask = inputs.memory_mask, .positions = inputs.memory_positions})
      .Reshape(x.shape());
}

template <typename T>
Var<T> TransformerLayer<T>::operator()(Forward<T>& forward, Var<T> x,
                                       const LayerInputs<T>& inputs) const {
  const auto in_scope = [&](const char* name, const Residual<T>& residual,
                            Var<T> of, auto branch) {
    const NameScope<T> scope(forward.tape(), name);
    return forward.Site("residual", residual(forward, of, branch), of);
  };
  Var<T> y = in_scope("self", attention_branch_, x, [&](Var<T> in) {
    return forward.Site("attention_output",
                        mixer_.has_value()
                            ? StateMixerBranch(forward, in, inputs)
                            : SelfAttentionBranch(forward, in, inputs));
  });
  if (inputs.memory.keys.has_value()) {
    REGARD_CHECK(has_cross_attention()) << "a memory without cross-attention";
    y = in_scope("cross", *cross_branch_, y, [&](Var<T> in) {
      return forward.Site("attention_output",
                          CrossAttentionBranch(forward, in, inputs));
    });
  }
  if (!feed_forward_.has_value()) return y;
  return in_scope("feed_forward", *feed_forward_branch_, y, [&](Var<T> in) {
    return forward.Site("feed_forward", (*feed_forward_)(forward, in));
  });
}

template <typename T>
int64_t TransformerLayer<T>::MaxDistance() const {
  return mixer_.has_value() ? kUnlimited : attention_->MaxDistance();
}

template <typename T>
int64_t TransformerLayer<T>::MaxCrossDistance() const {
  return has_cross_attention() ? cross_attention_->MaxDistance() : kUnlimited;
}

REGARD_INSTANTIATE_CLASS(TransformerLayer);

}  // namespace regard
