#include "language/bert.h"

#include <algorithm>

#include "attention/scoring_function.h"
#include "attention/transformer/feed_forward.h"
#include "attention/transformer/initialization.h"
#include "attention/transformer/validation.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

TransformerConfig BertTransformer(const BertConfig& config) {
  TransformerConfig transformer;
  transformer.set_width(768);
  transformer.set_layers(12);
  transformer.mutable_attention()->set_heads(12);
  transformer.mutable_attention()->mutable_attention()->set_dropout(0.1);
  transformer.mutable_feed_forward()->set_activation(FeedForwardConfig::GELU);
  transformer.mutable_norm()->set_epsilon(1e-12);
  transformer.set_norm_order(TransformerConfig::POST);
  transformer.set_dropout(0.1);
  PositionEmbeddingConfig& positions =
      *transformer.mutable_position_embedding();
  positions.set_kind(PositionEmbeddingConfig::LEARNED);
  positions.set_longest(512);
  transformer.set_scale_embedding(false);
  transformer.mutable_initialization()->set_weights(NORMAL);
  transformer.mutable_initialization()->set_zero_bias(true);
  transformer.MergeFrom(config.transformer());
  return transformer;
}

void ValidateBert(const BertConfig& config, const AttentionRegistry& scorers,
                  ConfigProblems& problems) {
  problems.CheckRanges(config);
  const ConfigProblems::Scope scope(problems, "transformer");
  ValidateTransformer(scorers, BertTransformer(config), /*memory_width=*/0,
                      problems);
}

template <typename T>
Bert<T>::Bert(const BertConfig& config, const AttentionRegistry& scorers,
              int64_t vocabulary, const ParameterScope<T>& scope)
    : Bert(config, BertTransformer(config), scorers, vocabulary, scope) {}

template <typename T>
Bert<T>::Bert(const BertConfig& config, const TransformerConfig& transformer,
              const AttentionRegistry& scorers, int64_t vocabulary,
              const ParameterScope<T>& scope)
    : width_(transformer.width()),
      dropout_(static_cast<T>(transformer.has_embedding_dropout()
                                  ? transformer.embedding_dropout()
                                  : transformer.dropout())),
      embedding_(scope.Sub("embedding"), vocabulary, width_,
                 EmbeddingInitializer(transformer.initialization())),
      positions_(transformer.position_embedding(), transformer.initialization(),
                 width_, scope.Sub("position_embedding")),
      types_(scope.Sub("type_embedding"), config.types(), width_,
             EmbeddingInitializer(transformer.initialization())),
      norm_(transformer.norm(), width_, scope.Sub("embedding_norm")),
      stack_(scorers, transformer, /*memory_width=*/0, scope) {
  if (!config.pooler()) return;
  pooler_.emplace(
      scope.Sub("pooler"), width_, width_,
      LinearInitialization(transformer.initialization(), /*bias=*/true));
}

template <typename T>
Var<T> Bert<T>::operator()(Forward<T>& forward, const BertBatch& batch,
                           LayerInputs<T> inputs) const {
  const auto count = static_cast<int64_t>(batch.ids.size());
  REGARD_CHECK(batch.size > 0 && count % batch.size == 0)
      << count << " ids for " << batch.size << " rows";
  const NameScope<T> scope(forward.tape(), "bert");
  const Shape rows = {batch.size, count / batch.size};
  Var<T> x = embedding_(forward, batch.ids, rows);
  if (batch.types.empty()) {
    x = x +
        Slice(forward[types_.weight()], /*axis=*/0, 0, 1).WithShape({width_});
  } else {
    x = x + types_(forward, batch.types, rows);
  }
  x = norm_(forward, positions_(forward, x, inputs.positions.first_query));
  x = forward.Site("embedded", Dropout(x, dropout_, "embedding"));
  inputs.mask.key_lengths = batch.lengths;
  return stack_(forward, x, inputs);
}

template <typename T>
Var<T> Bert<T>::Pool(Forward<T>& forward, Var<T> hidden) const {
  REGARD_CHECK(pooler_.has_value()) << "there is no pooler";
  const Var<T> first =
      Slice(hidden, /*axis=*/1, 0, 1).WithShape({hidden.dim(0), hidden.dim(2)});
  return Tanh((*pooler_)(forward, first));
}

template <typename T>
int64_t Bert<T>::longest_position() const {
  return std::min(positions_.longest_position(), stack_.longest_position());
}

template <typename T>
MaskedWordHead<T>::MaskedWordHead(const BertConfig& config, const Bert<T>& bert,
                                  const ParameterScope<T>& scope)
    : MaskedWordHead(BertTransformer(config), bert.embedding(), scope) {}

template <typename T>
MaskedWordHead<T>::MaskedWordHead(const TransformerConfig& config,
                                  Parameter<T> embedding,
                                  const ParameterScope<T>& scope)
    : vocabulary_(scope.store().info(embedding).shape[0]),
      activation_(config.feed_forward().activation() ==
                          FeedForwardConfig::SWIGLU
                      ? FeedForwardConfig::GELU
                      : config.feed_forward().activation()),
      transform_(scope.Sub("transform"), config.width(), config.width(),
                 LinearInitialization(config.initialization(), /*bias=*/true)),
      norm_(config.norm(), config.width(), scope.Sub("norm")),
      weight_(embedding) {
  scope.Alias("weight", embedding);
  bias_ = scope.Add("bias", {vocabulary_}, Zeros());
}

template <typename T>
Var<T> MaskedWordHead<T>::Readout(Forward<T>& forward, Var<T> hidden) const {
  const NameScope<T> scope(forward.tape(), "masked_words");
  return norm_(forward, Activate(activation_, transform_(forward, hidden)));
}

template <typename T>
Var<T> MaskedWordHead<T>::LogitsOf(Forward<T>& forward, Var<T> hidden) const {
  return Linear(Readout(forward, hidden), forward[weight_], forward[bias_]);
}

template <typename T>
Var<T> MaskedWordHead<T>::LossOf(Forward<T>& forward, Var<T> hidden,
                                 absl::Span<const int32_t> targets,
                                 const CrossEntropyOptions& options) const {
  const Var<T> readout = Readout(forward, hidden);
  return LinearCrossEntropy(readout.WithShape({readout.rows(), readout.cols()}),
                            forward[weight_], forward[bias_], targets, options);
}

REGARD_INSTANTIATE_CLASS(Bert);
REGARD_INSTANTIATE_CLASS(MaskedWordHead);

}  // namespace regard
