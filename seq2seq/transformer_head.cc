#include "seq2seq/transformer_head.h"

#include "attention/transformer/feed_forward.h"
#include "attention/transformer/initialization.h"
#include "nn/hook.h"

namespace regard {

template <typename T>
TransformerHead<T>::TransformerHead(const TransformerConfig& config,
                                    Parameter<T> embedding,
                                    const SpecialIds& special_ids,
                                    const ParameterScope<T>& scope)
    : activation_(config.feed_forward().activation() ==
                          FeedForwardConfig::SWIGLU
                      ? FeedForwardConfig::GELU
                      : config.feed_forward().activation()) {
  const TransformerInitialization& values = config.initialization();
  if (config.output_transform()) {
    transform_.emplace(scope.Sub("transform"), config.width(), config.width(),
                       LinearInitialization(values, /*bias=*/true));
    norm_.emplace(config.norm(), config.width(), scope.Sub("norm"));
  }
  if (config.tied_embeddings() == TransformerConfig::SEPARATE) {
    linear_.emplace(
        scope, config.width(), scope.store().info(embedding).shape[0],
        LinearInitialization(values, config.output_bias()), special_ids);
  } else {
    linear_.emplace(scope, embedding,
                    config.output_transform() && config.output_bias(),
                    special_ids);
  }
}

template <typename T>
Var<T> TransformerHead<T>::Transform(Forward<T>& forward,
                                     Var<T> readout) const {
  if (!transform_.has_value()) return readout;
  const NameScope<T> scope(forward.tape(), "transform");
  const Var<T> hidden = Activate(activation_, (*transform_)(forward, readout));
  // A pass that reads the logits calls this function twice, so the scale of the
  // norm is not a hook point.
  Hook<T>* const hook = forward.hook();
  forward.set_hook(nullptr);
  const Var<T> normed = (*norm_)(forward, hidden);
  forward.set_hook(hook);
  return normed;
}

template <typename T>
Var<T> TransformerHead<T>::LogitsOf(Forward<T>& forward, Var<T> readout) const {
  return linear_->LogitsOf(forward, Transform(forward, readout));
}

template <typename T>
Var<T> TransformerHead<T>::LossOf(Forward<T>& forward, Var<T> readout,
                                  absl::Span<const int32_t> targets,
                                  const CrossEntropyOptions& options) const {
  return linear_->LossOf(forward, Transform(forward, readout), targets,
                         options);
}

REGARD_INSTANTIATE_CLASS(TransformerHead);

}  // namespace regard
