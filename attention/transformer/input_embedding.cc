#include "attention/transformer/input_embedding.h"

#include <cmath>

#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
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
InputEmbedding<T>::InputEmbedding(const TransformerConfig& config,
                                  int64_t vocabulary,
                                  const ParameterScope<T>& scope,
                                  Parameter<T> shared, int64_t types)
    : embedding_(
          MakeEmbedding(config, vocabulary, scope.Sub("embedding"), shared)),
      positions_(config.position_embedding(), config.initialization(),
                 config.width(), scope.Sub("position_embedding")),
      scale_(static_cast<T>(config.scale_embedding()
                                ? std::sqrt(static_cast<double>(config.width()))
                                : 1)),
      dropout_(static_cast<T>(config.has_embedding_dropout()
                                  ? config.embedding_dropout()
                                  : config.dropout())) {
  if (types > 0) {
    types_.emplace(scope.Sub("type_embedding"), types, config.width(),
                   EmbeddingInitializer(config.initialization()));
  }
  if (config.embedding_norm()) {
    norm_.emplace(config.norm(), config.width(), scope.Sub("embedding_norm"));
  }
}

template <typename T>
Var<T> InputEmbedding<T>::operator()(Forward<T>& forward,
                                     absl::Span<const int32_t> ids,
                                     int64_t batch, int64_t first,
                                     absl::Span<const int32_t> types) const {
  const auto count = static_cast<int64_t>(ids.size());
  REGARD_CHECK(batch > 0 && count % batch == 0)
      << count << " ids for " << batch << " rows";
  REGARD_CHECK(types_.has_value() || types.empty()) << "there are no types";
  const Shape rows = {batch, count / batch};
  Var<T> x = embedding_(forward, ids, rows);
  if (scale_ != T(1)) x = x * scale_;
  if (!types.empty()) {
    x = x + (*types_)(forward, types, rows);
  } else if (types_.has_value()) {
    const Var<T> first_type =
        Slice(forward[types_->weight()], /*axis=*/0, 0, 1);
    x = x + first_type.Reshape({x.cols()});
  }
  x = positions_(forward, x, first);
  if (norm_.has_value()) x = (*norm_)(forward, x);
  return forward.Site("embedded", Dropout(x, dropout_, "embedding"));
}

REGARD_INSTANTIATE_CLASS(InputEmbedding);

}  // namespace regard
