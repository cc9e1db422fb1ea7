#include "attention/transformer/token_embedding.h"

#include <cmath>

#include "attention/transformer/initialization.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

template <typename T>
EmbeddingLayer<T> MakeEmbedding(const TransformerConfig& config,
                                int64_t vocabulary,
                                const ParameterScope<T>& scope,
                                Parameter<T> shared) {
  if (!shared.has_value()) {
    return EmbeddingLayer<T>(scope, vocabulary, config.width(),
                             EmbeddingInitializer(config.initialization()));
  }
  const Shape& shape = scope.store().info(shared).shape;
  REGARD_CHECK(shape == Shape({vocabulary, config.width()}))
      << "an embedding of " << vocabulary << " ids of width " << config.width()
      << " cannot share a weight " << shape;
  return EmbeddingLayer<T>(scope, shared);
}

}  // namespace

template <typename T>
TokenEmbedding<T>::TokenEmbedding(const TransformerConfig& config,
                                  int64_t vocabulary,
                                  const ParameterScope<T>& scope,
                                  Parameter<T> shared)
    : embedding_(
          MakeEmbedding(config, vocabulary, scope.Sub("embedding"), shared)),
      positions_(config.position_embedding(), config.initialization(),
                 config.width(), scope.Sub("position_embedding")),
      scale_(static_cast<T>(config.scale_embedding()
                                ? std::sqrt(static_cast<double>(config.width()))
                                : 1)),
      dropout_(static_cast<T>(config.has_embedding_dropout()
                                  ? config.embedding_dropout()
                                  : config.dropout())) {}

template <typename T>
Var<T> TokenEmbedding<T>::operator()(Forward<T>& forward,
                                     absl::Span<const int32_t> ids,
                                     int64_t batch, int64_t first) const {
  const auto count = static_cast<int64_t>(ids.size());
  REGARD_CHECK(batch > 0 && count % batch == 0)
      << count << " ids for " << batch << " rows";
  Var<T> x = embedding_(forward, ids, {batch, count / batch});
  if (scale_ != T(1)) x = x * scale_;
  x = Dropout(positions_(forward, x, first), dropout_, "embedding");
  return forward.Site("embedded", x);
}

REGARD_INSTANTIATE_CLASS(TokenEmbedding);

}  // namespace regard
