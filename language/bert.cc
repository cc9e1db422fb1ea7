#include "language/bert.h"

#include <algorithm>

#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "language/bert.pb.h"
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
  transformer.set_embedding_norm(true);
  transformer.set_tied_embeddings(TransformerConfig::TARGET_OUTPUT);
  transformer.set_output_transform(true);
  transformer.mutable_initialization()->set_weights(NORMAL);
  transformer.mutable_initialization()->set_zero_bias(true);
  MergeTransformerInto(config.transformer(), &transformer);
  return transformer;
}

void ValidateBert(const BertConfig& config, const AttentionRegistry& scorers,
                  ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  const ConfigProblems::Scope scope(problems, "transformer");
  ValidateTransformer(scorers, BertTransformer(config), /*memory_width=*/0,
                      Direction::kBoth, problems);
  ValidateHasNoSource("BERT", config.transformer(), problems);
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
      embedding_(transformer, vocabulary, scope, /*shared=*/{}, config.types()),
      stack_(scorers, transformer, /*memory_width=*/0, scope) {
  if (!config.pooler()) return;
  pooler_.emplace(
      scope.Sub("pooler"), width_, width_,
      LinearInitialization(transformer.initialization(), /*bias=*/true));
}

template <typename T>
Var<T> Bert<T>::operator()(Forward<T>& forward, const BertBatch& batch,
                           LayerInputs<T> inputs) const {
  const NameScope<T> scope(forward.tape(), "bert");
  const Var<T> x = embedding_(forward, batch.ids, batch.size,
                              inputs.positions.first_query, batch.types);
  inputs.mask.key_lengths = batch.lengths;
  return stack_(forward, x, inputs);
}

template <typename T>
Var<T> Bert<T>::Pool(Forward<T>& forward, Var<T> hidden) const {
  REGARD_CHECK(pooler_.has_value()) << "there is no pooler";
  const Var<T> first =
      Slice(hidden, /*axis=*/1, 0, 1).Reshape({hidden.dim(0), hidden.dim(2)});
  return Tanh((*pooler_)(forward, first));
}

template <typename T>
int64_t Bert<T>::longest_position() const {
  return std::min(embedding_.longest_position(), stack_.longest_position());
}

REGARD_INSTANTIATE_CLASS(Bert);

}  // namespace regard
