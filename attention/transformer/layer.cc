#include "attention/transformer/layer.h"

#include "attention/transformer/initialization.h"
#include "attention/transformer/validation.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Of the whole stack, for scale_residual.
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
  // Which projections have biases, the config of the attention says.
  const TransformerInitialization& values = config.initialization();
  return {.inputs = LinearInitialization(values, /*bias=*/true),
          .output = BranchInitialization(
              values, /*bias=*/true, Branches(scorers, config, memory_width))};
}

}  // namespace

template <typename T>
TransformerLayer<T>::TransformerLayer(const AttentionRegistry& scorers,
                                      const TransformerConfig& config,
                                      int64_t index, int64_t memory_width,
                                      const ParameterScope<T>& scope)
    : index_(index),
      attention_(scorers, LayerConfig(scorers, config, index).attention(),
                 scope.Sub("attention"),
                 {config.width(), config.width(), config.width()},
                 AttentionInitialization(scorers, config, memory_width)),
      attention_branch_(config, index, scope.Sub("attention_norm")) {
  const FeedForwardConfig network =
      LayerConfig(scorers, config, index).feed_forward();
  if (!network.has_none()) {
    feed_forward_.emplace(network, config.initialization(), config.width(),
                          Branches(scorers, config, memory_width),
                          scope.Sub("feed_forward"));
    feed_forward_branch_.emplace(config, index, scope.Sub("feed_forward_norm"));
  }
  if (memory_width == 0) return;
  cross_attention_.emplace(
      scorers, LayerConfig(scorers, config, index).cross_attention(),
      scope.Sub("cross_attention"),
      MultiHeadWidths{config.width(), memory_width, memory_width},
      AttentionInitialization(scorers, config, memory_width));
  cross_branch_.emplace(config, index, scope.Sub("cross_attention_norm"));
}

template <typename T>
PreparedSource<T> TransformerLayer<T>::PrepareMemory(Forward<T>& forward,
                                                     Var<T> memory) const {
  REGARD_CHECK(has_cross_attention()) << "a memory without cross-attention";
  return cross_attention_->Prepare(forward, memory, memory);
}

template <typename T>
Var<T> TransformerLayer<T>::AttendToMemory(Forward<T>& forward, Var<T> x,
                                           const LayerInputs<T>& inputs) const {
  // The rows of a source are queries of one source.
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
    PreparedSource<T> source =
        attention_.Prepare(forward, in, in, inputs.positions.first_query);
    if (inputs.append_to_cache != nullptr)
      source = (*inputs.append_to_cache)(index_, source);
    return attention_(forward, in, source,
                      {.mask = inputs.mask, .positions = inputs.positions});
  });
  if (inputs.memory.keys.has_value()) {
    REGARD_CHECK(has_cross_attention()) << "a memory without cross-attention";
    y = in_scope("cross", *cross_branch_, y, [&](Var<T> in) {
      return AttendToMemory(forward, in, inputs);
    });
  }
  if (!feed_forward_.has_value()) return y;
  return in_scope("feed_forward", *feed_forward_branch_, y, [&](Var<T> in) {
    return forward.Site("feed_forward", (*feed_forward_)(forward, in));
  });
}

template <typename T>
int64_t TransformerLayer<T>::LongestDistance() const {
  return attention_.LongestDistance();
}

template <typename T>
int64_t TransformerLayer<T>::LongestCrossDistance() const {
  return has_cross_attention() ? cross_attention_->LongestDistance()
                               : kUnlimited;
}

REGARD_INSTANTIATE_CLASS(TransformerLayer);

}  // namespace regard
