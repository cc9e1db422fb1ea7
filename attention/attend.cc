#include "attention/attend.h"

#include <algorithm>
#include <optional>

#include "attention/kernels/masked_normalize.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/weighted_values.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

namespace {

ScoreWidths ScorerWidths(const ScorerInfo& info, ScoreWidths widths) {
  if (!info.grouped_heads) widths.key_heads = widths.heads;
  return widths;
}

// [batch, heads, n, width], each head `copies` times.
template <typename T>
Var<T> RepeatHeads(Var<T> x, int64_t copies) {
  if (copies == 1) return x;
  const Shape& s = x.shape();
  return BroadcastTo(x.WithShape({s[0], s[1], 1, s[2], s[3]}),
                     {s[0], s[1], copies, s[2], s[3]})
      .WithShape({s[0], s[1] * copies, s[2], s[3]});
}

}  // namespace

template <typename T>
AttentionLayer<T>::AttentionLayer(const AttentionRegistry& registry,
                                  const Attention& config,
                                  ParameterScope<T> scope,
                                  const ScoreWidths& widths)
    : normalizer_(registry.normalizers.Create<T>(config.normalizer())),
      window_(config.window()),
      dropout_(static_cast<T>(config.dropout())) {
  const ScorerInfo& info = *registry.Find(config);
  const ScoreWidths of_scorer = ScorerWidths(info, widths);
  scorer_ = registry.Create<T>(config, scope, of_scorer);
  uses_history_ = info.uses_history;
  key_copies_ = of_scorer.key_heads / widths.key_heads;
  if (config.has_position_encoding()) {
    position_encoding_ = registry.position_encodings.Create<T>(
        config.position_encoding(), scope.Sub("position_encoding"), widths);
  }
}

template <typename T>
Var<T> AttentionLayer<T>::Prepare(Forward<T>& forward, Var<T> keys,
                                  int64_t key_position) const {
  if (position_encoding_ != nullptr) {
    keys = position_encoding_->Encode(forward, keys, key_position, /*step=*/1);
  }
  return scorer_->Prepare(forward, RepeatHeads(keys, key_copies_),
                          key_position);
}

template <typename T>
int64_t AttentionLayer<T>::LongestDistance() const {
  const int64_t longest = scorer_->LongestDistance();
  if (position_encoding_ == nullptr) return longest;
  return std::min(longest, position_encoding_->LongestDistance());
}

template <typename T>
DistanceBias<T> AttentionLayer<T>::Bias(Forward<T>& forward,
                                        const Positions& positions,
                                        int64_t queries, int64_t keys) const {
  if (position_encoding_ == nullptr || queries == 0) return {};
  const DistanceRange range = DistanceRange::Of(positions, queries, keys);
  return {position_encoding_->Bias(forward, range.lowest, range.count),
          range.lowest};
}

template <typename T>
Var<T> AttentionLayer<T>::Scores(Forward<T>& forward,
                                 const ScoreInputs<T>& inputs) const {
  forward.tape().BeginScores();
  const Var<T> scores = scorer_->Score(forward, inputs);
  forward.tape().EndScores(scores);
  return scores;
}

template <typename T>
Var<T> AttentionLayer<T>::Normalize(Var<T> scores, const ScoreInputs<T>& inputs,
                                    const DistanceBias<T>& bias) const {
  if (normalizer_->IsSoftmax()) {
    return MaskedSoftmax(scores, inputs.mask, inputs.positions, bias);
  }
  return MaskedNormalize(scores, *normalizer_, inputs.mask, inputs.positions,
                         bias);
}

template <typename T>
Attended<T> AttentionLayer<T>::Attend(Forward<T>& forward,
                                      const AttendInputs<T>& inputs) const {
  const NameScope<T> scope(forward.tape(), "attention");
  ScoreInputs<T> in = inputs.score;
  if (window_ > 0 && (in.mask.window == 0 || window_ < in.mask.window)) {
    in.mask.window = window_;
  }
  if (position_encoding_ != nullptr) {
    in.queries = position_encoding_->Encode(
        forward, in.queries, in.positions.first_query, in.positions.query_step);
  }
  const DistanceBias<T> bias =
      Bias(forward, in.positions, in.queries.dim(2), in.keys.dim(2));
  in.queries = forward.Site("queries", in.queries);
  in.keys = forward.Site("keys", in.keys);
  const Var<T> values = forward.Site("values", inputs.values);
  const bool drop = dropout_ > 0 && forward.tape().training();
  const bool fused = normalizer_->IsSoftmax() && !bias.has_value() && !drop &&
                     !forward.Wish("scores").changes_path() &&
                     !forward.Wish("weights").changes_path();
  if (fused && inputs.fused_score) {
    const std::optional<Var<T>> context =
        scorer_->FusedContext(forward, in, values);
    if (context.has_value()) {
      const auto scores = [&] { return Scores(forward, in); };
      forward.SiteBeside("scores", scores);
      forward.SiteBeside("weights",
                         [&] { return Normalize(scores(), in, bias); });
      return {forward.Site("context", *context), Var<T>()};
    }
  }
  const Var<T> scores = forward.Site("scores", Scores(forward, in));
  Attended<T> attended;
  if (fused) {
    const WeightsAndContext<T> both =
        MaskedSoftmaxContext(scores, in.mask, values, in.positions);
    attended = {both.context, forward.Site("weights", both.weights)};
  } else {
    attended.weights = forward.Site("weights", Normalize(scores, in, bias));
    attended.context =
        WeightedValues(Dropout(attended.weights, dropout_, "weights"), in.mask,
                       values, in.positions);
  }
  attended.context = forward.Site("context", attended.context);
  if (inputs.fused_score) attended.weights = {};
  return attended;
}

REGARD_INSTANTIATE_CLASS(AttentionLayer);

}  // namespace regard
