#include "attention/attend.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/call_parts.h"
#include "attention/kernels/inner_form.h"
#include "attention/kernels/masked_normalize.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/kernels/selected_scores.h"
#include "attention/kernels/weighted_values.h"
#include "attention/layer_state.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Repeats each head of x [batch, heads, n, width] `copies` times.
template <typename T>
Var<T> RepeatHeads(Var<T> x, int64_t copies) {
  if (copies == 1) return x;
  const Shape& s = x.shape();
  return BroadcastTo(x.Reshape({s[0], s[1], 1, s[2], s[3]}),
                     {s[0], s[1], copies, s[2], s[3]})
      .Reshape({s[0], s[1] * copies, s[2], s[3]});
}

}  // namespace

template <typename T>
AttentionLayer<T>::AttentionLayer(const AttentionRegistry& registry,
                                  const Attention& config,
                                  ParameterScope<T> scope,
                                  const ScoreWidths& widths)
    : parts_(registry, config, std::move(scope), widths),
      window_(config.window()),
      block_(config.block()),
      dropout_(static_cast<T>(config.dropout())) {}

template <typename T>
Var<T> AttentionLayer<T>::Prepare(Forward<T>& forward,
                                  PrepareInputs<T> in) const {
  if (parts_.position_encoding != nullptr) {
    in.keys =
        parts_.position_encoding->Encode(forward, in.keys, in.key_position,
                                         /*step=*/1);
  }
  in.keys = RepeatHeads(in.keys, parts_.key_copies);
  return parts_.scorer->Prepare(forward, in);
}

template <typename T>
int64_t AttentionLayer<T>::MaxDistance() const {
  int64_t longest = parts_.scorer->MaxDistance();
  // The limit has no effect if the window masks all keys beyond it.
  if (window_ > 0 && window_ - 1 <= longest) longest = kUnlimited;
  if (parts_.position_encoding == nullptr) return longest;
  return std::min(longest, parts_.position_encoding->MaxDistance());
}

template <typename T>
bool AttentionLayer<T>::ReadsHeadsSideBySide() const {
  return SupportsBlockedKernel() && parts_.selection == nullptr &&
         parts_.scorer->PlainFactor().has_value() &&
         (parts_.position_encoding == nullptr ||
          parts_.position_encoding->IsOnlyBias());
}

template <typename T>
bool AttentionLayer<T>::HasHookBeyondRowStatistics(Forward<T>& forward) const {
  if (forward.hook() == nullptr) return false;
  const NameScope<T> scope(forward.tape(), "attention");
  const auto is_watched = [&](const char* name) {
    return forward.Request(name).any();
  };
  const auto names = {"queries", "keys",    "values",
                      "scores",  "weights", "context"};
  if (std::any_of(names.begin(), names.end(), is_watched)) return true;
  return parts_.position_encoding != nullptr && is_watched("distance_bias");
}

template <typename T>
Var<T> AttentionLayer<T>::ContextSideBySide(Forward<T>& forward,
                                            ScoreInputs<T> in, Var<T> values,
                                            int64_t heads) const {
  const NameScope<T> scope(forward.tape(), "attention");
  InnerForm<T> form = {in.queries, in.keys, *parts_.scorer->PlainFactor()};
  const ScoreBiases<T> bias =
      Bias(forward, in, in.queries.dim(1), in.keys.dim(1));
  form.distance_bias = bias.distance;
  form.difference_bias = bias.difference;
  const AttentionStatistics rows = forward.NewRowStatistics(
      "weights", {in.queries.dim(0), heads, in.queries.dim(1)});
  const Var<T> context =
      ScaledDotAttention(form, values, NarrowWindow(in.mask), in.positions,
                         dropout_, heads, SinkLogits(forward), rows);
  forward.PassRowStatistics("weights", rows);
  return context;
}

template <typename T>
Mask AttentionLayer<T>::NarrowWindow(Mask mask) const {
  if (window_ > 0 && (mask.window == 0 || window_ < mask.window)) {
    mask.window = window_;
  }
  return mask;
}

template <typename T>
ScoreBiases<T> AttentionLayer<T>::Bias(Forward<T>& forward,
                                       const ScoreInputs<T>& in,
                                       int64_t queries, int64_t keys) const {
  ScoreBiases<T> bias;
  if (queries == 0) return bias;
  if (parts_.position_encoding != nullptr) {
    const DistanceRange range = DistanceRange::Of(in.positions, queries, keys);
    Var<T> values =
        parts_.position_encoding->Bias(forward, range.lowest, range.count);
    if (values.has_value()) {
      const Shape shape = values.shape();
      values =
          forward
              .Site("distance_bias", values.Reshape({1, shape[0], 1, shape[1]}))
              .Reshape(shape);
    }
    bias.distance = {values, range.lowest};
  }
  if (parts_.forget.has_value()) {
    const Mask& mask = in.mask;
    REGARD_CHECK(in.x.has_value() && mask.causal && mask.dense.empty() &&
                 mask.excluded.empty() && in.positions.query_step == 1 &&
                 (in.state != nullptr || queries == keys))
        << "a forget gate requires causal self-attention that has its "
           "input and all earlier positions";
    bias.difference = parts_.forget->Bias(forward, in.x, in.state);
  }
  return bias;
}

template <typename T>
bool AttentionLayer<T>::SupportsBlockedKernel() const {
  return parts_.normalizer->IsSoftmax() && !parts_.uses_history &&
         parts_.map_before == nullptr && parts_.map_after == nullptr;
}

template <typename T>
bool AttentionLayer<T>::HookNeedsStoredWeights(Forward<T>& forward) const {
  return forward.Request("scores").changes_path() ||
         forward.Request("weights").changes_path();
}

template <typename T>
std::optional<Var<T>> AttentionLayer<T>::BlockedContext(
    Forward<T>& forward, const ScoreInputs<T>& in, Var<T> values,
    const ScoreBiases<T>& bias, const AttentionStatistics& rows) const {
  if (!SupportsBlockedKernel()) return std::nullopt;
  std::optional<InnerForm<T>> form = parts_.scorer->Inner(forward, in);
  if (!form.has_value()) return std::nullopt;
  DistanceBias<T>& sum = form->distance_bias;
  if (!sum.has_value()) {
    sum = bias.distance;
  } else if (bias.distance.has_value()) {
    REGARD_CHECK_EQ(sum.lowest, bias.distance.lowest);
    sum.values = sum.values + bias.distance.values;
  }
  form->difference_bias = bias.difference;
  return ScaledDotAttention(*form, values, in.mask, in.positions, dropout_,
                            /*heads_side_by_side=*/0, SinkLogits(forward),
                            rows);
}

template <typename T>
Var<T> AttentionLayer<T>::Scores(Forward<T>& forward, ScoreInputs<T> inputs,
                                 const ScoreBiases<T>& bias) const {
  if (parts_.uses_history && !inputs.previous_weights.has_value()) {
    const Shape& q = inputs.queries.shape();
    inputs.previous_weights =
        forward.tape().Full({q[0], q[1], q[2], inputs.keys.dim(2)}, T(0));
    inputs.cumulative_weights = inputs.previous_weights;
  }
  forward.tape().NotifyBeginScores();
  Var<T> scores = parts_.scorer->Score(forward, inputs);
  if (parts_.map_before_mixes_keys && parts_.selection != nullptr) {
    scores = SelectedScores(scores, inputs.mask, inputs.positions);
  }
  if (parts_.map_before != nullptr) {
    scores = parts_.map_before->Map(forward, scores, inputs);
  }
  if (bias.difference.has_value()) {
    scores = AddDifferenceBias(scores, bias.difference);
  }
  if (parts_.selection != nullptr) {
    scores =
        SelectedScores(scores, inputs.mask, inputs.positions, bias.distance);
  }
  forward.tape().NotifyEndScores(scores);
  return scores;
}

template <typename T>
Var<T> AttentionLayer<T>::SinkLogits(Forward<T>& forward) const {
  return parts_.sink.has_value() ? parts_.sink->Logits(forward) : Var<T>();
}

template <typename T>
Var<T> AttentionLayer<T>::Weights(Forward<T>& forward, Var<T> scores,
                                  const Mask& mask, const Positions& positions,
                                  const DistanceBias<T>& bias) const {
  return parts_.normalizer->IsSoftmax() && !parts_.sink.has_value()
             ? MaskedSoftmax(scores, mask, positions, bias)
             : MaskedNormalize(scores, *parts_.normalizer, mask, positions,
                               {bias, SinkLogits(forward),
                                parts_.normalizer->Parameters(forward)});
}

template <typename T>
Var<T> AttentionLayer<T>::Normalize(Forward<T>& forward, Var<T> scores,
                                    const ScoreInputs<T>& inputs,
                                    const ScoreBiases<T>& bias) const {
  scores = AddBias(scores, bias.difference);
  const Var<T> weights =
      Weights(forward, scores, inputs.mask, inputs.positions, bias.distance);
  if (parts_.map_after == nullptr) return weights;
  return parts_.map_after->Map(forward, weights, inputs);
}

template <typename T>
AttentionResult<T> AttentionLayer<T>::AttendRows(
    Forward<T>& forward, const ScoreInputs<T>& in, Var<T> values,
    const ScoreBiases<T>& bias, const RowStatisticsWriter& rows) const {
  // A part does not visit hook points, because the whole call visits them.
  const bool part = in.mask.is_part();
  const auto weights_site = [&](Var<T> weights) {
    rows.Write(weights, in.mask);
    if (part) return weights;
    return forward.WeightsSite("weights", weights,
                               WeightBlockPositionOf(in.positions));
  };
  Var<T> scores = Scores(forward, in);
  if (!part) scores = forward.Site("scores", scores);
  if (parts_.selection != nullptr && forward.Request("scores").changes_path()) {
    scores = SelectedScores(scores, in.mask, in.positions);
  }
  const bool drop = dropout_ > 0 && forward.tape().training();
  // One operation computes weights and context if no step comes between them.
  if (parts_.normalizer->IsSoftmax() && !bias.distance.has_value() &&
      !parts_.sink.has_value() && parts_.map_after == nullptr && !drop &&
      !HookNeedsStoredWeights(forward)) {
    const WeightsAndContext<T> both = MaskedSoftmaxContext(
        AddBias(scores, bias.difference), in.mask, values, in.positions);
    return {both.context, weights_site(both.weights)};
  }
  const Var<T> weights = weights_site(Normalize(forward, scores, in, bias));
  const Var<T> dropped = Dropout(weights, dropout_, "weights",
                                 in.mask.first_row, in.mask.first_key);
  return {WeightedValues(dropped, in.mask, values, in.positions), weights};
}

template <typename T>
int64_t AttentionLayer<T>::RowsPerBlock(Forward<T>& forward,
                                        const ScoreInputs<T>& in,
                                        Var<T> values) const {
  constexpr int64_t kMaxRows = kGemmDepth;
  constexpr int64_t kSkippingRows = 128;  // small blocks read few masked keys
  constexpr int64_t kMaxNumbers = int64_t{1} << 24;
  constexpr int64_t kMaxNumbersOfBatch = int64_t{1} << 26;
  if (in.previous_weights.has_value()) return 0;
  const int64_t numbers_of_row =
      in.queries.dim(1) * in.keys.dim(2) * parts_.scorer->WidthPerPair();
  const int64_t queries = in.queries.dim(2);
  const int64_t in_batch = in.queries.dim(0) * queries * numbers_of_row;
  const bool records = forward.tape().recording();
  // A block copies the keys and values that it sees. In a search step, this
  // copy takes longer than the computation of all scores.
  if (!CanAttendToKeyRuns() && !records &&
      (queries == 1 || in_batch <= in.keys.size() + values.size())) {
    return 0;
  }
  // Blocks of causal queries skip all later keys. This saves no time if the
  // tape records, because the backward pass computes each block again.
  const bool skips_keys = CanAttendToKeyRuns() || (in.mask.causal && !records &&
                                                   queries > kSkippingRows);
  const int64_t most_rows = skips_keys ? kSkippingRows : kMaxRows;
  if (block_ > 0) return std::min(block_, most_rows);
  if (!skips_keys && queries <= 2 * kMaxRows &&
      queries * numbers_of_row <= kMaxNumbers &&
      in_batch <= kMaxNumbersOfBatch) {
    return 0;
  }
  return std::clamp<int64_t>(kMaxNumbers / std::max<int64_t>(numbers_of_row, 1),
                             1, most_rows);
}

template <typename T>
bool AttentionLayer<T>::CanAttendToKeyRuns() const {
  return parts_.selection != nullptr && !parts_.map_before_mixes_keys &&
         !parts_.map_after_mixes_keys;
}

template <typename T>
Var<T> AttentionLayer<T>::AttendToKeyRuns(
    Forward<T>& forward, const ScoreInputs<T>& part, Var<T> values,
    const ScoreBiases<T>& bias, int64_t example,
    const RowStatisticsWriter& rows) const {
  constexpr int kKeyAxis = 3;
  Tape<T>& tape = forward.tape();
  const Shape& q = part.queries.shape();
  const JoinedKeyRuns runs =
      FindJoinedKeyRuns(tape.arena(), part.mask, part.positions, q[2]);
  const size_t count = runs.keys.size();
  if (count == 0) return tape.Full({1, q[1], q[2], values.dim(3)}, T(0));
  const auto rows_of_run = [&](Var<T> x, const KeyRange& run) {
    return RowsOfExample(x, example, run.begin, run.end - run.begin);
  };
  const auto run_part = [&](const KeyRange& run) {
    ScoreInputs<T> in = part;
    in.mask.first_key = run.begin;
    in.positions.first_key += run.begin;
    in.keys = rows_of_run(part.keys, run);
    return in;
  };
  const auto bias_of_run = [&](const KeyRange& run) {
    ScoreBiases<T> run_part = bias;
    if (bias.difference.has_value()) {
      run_part.difference.keys = rows_of_run(bias.difference.keys, run);
    }
    return run_part;
  };
  const auto map_runs = [&](auto f) -> absl::Span<const Var<T>> {
    auto* const parts = tape.arena().template New<Var<T>>(count);
    for (size_t i = 0; i < count; ++i) parts[i] = f(runs.keys[i]);
    return {parts, count};
  };
  const auto join = [&](absl::Span<const Var<T>> parts, int axis) {
    return count == 1 ? parts[0] : Concat<T>(parts, axis);
  };
  const auto scores_of_runs = map_runs([&](const KeyRange& run) {
    return Scores(forward, run_part(run), bias_of_run(run));
  });
  tape.NotifyBeginScores();
  const Var<T> scores = join(scores_of_runs, kKeyAxis);
  tape.NotifyEndScores(scores);
  const Var<T> values_of_runs = join(
      map_runs([&](const KeyRange& run) { return rows_of_run(values, run); }),
      kKeyAxis - 1);
  Mask mask = part.mask;
  mask.seen = runs.columns;
  const bool drop = dropout_ > 0 && tape.training();
  if (parts_.normalizer->IsSoftmax() && !bias.distance.has_value() &&
      !parts_.sink.has_value() && parts_.map_after == nullptr && !drop) {
    const WeightsAndContext<T> both =
        MaskedSoftmaxContext(scores, mask, values_of_runs);
    rows.WriteRunStatistics(both.weights, runs.keys);
    return both.context;
  }
  const Var<T> weights = Weights(forward, scores, mask, {}, {});
  if (parts_.map_after == nullptr) rows.WriteRunStatistics(weights, runs.keys);
  if (!drop && parts_.map_after == nullptr) {
    return WeightedValues(weights, mask, values_of_runs);
  }
  int64_t column = 0;
  auto* const mapped = tape.arena().template New<Var<T>>(count);
  size_t next = 0;
  const auto dropped = map_runs([&](const KeyRange& run) {
    const int64_t size = run.end - run.begin;
    Var<T> keys_of = Slice(weights, kKeyAxis, column, size);
    column += size;
    if (parts_.map_after != nullptr) {
      keys_of = parts_.map_after->Map(forward, keys_of, run_part(run));
    }
    mapped[next++] = keys_of;
    return Dropout(keys_of, dropout_, "weights", mask.first_row, run.begin);
  });
  if (parts_.map_after != nullptr && rows.to.has_value()) {
    rows.WriteRunStatistics(join({mapped, count}, kKeyAxis), runs.keys);
  }
  return WeightedValues(join(dropped, kKeyAxis), mask, values_of_runs);
}

template <typename T>
Var<T> AttentionLayer<T>::AttendInBlocks(
    Forward<T>& forward, const ScoreInputs<T>& in, Var<T> values,
    const ScoreBiases<T>& bias, int64_t rows_per_block,
    const AttentionStatistics& rows) const {
  const Shape q = in.queries.shape();
  const int64_t keys = in.keys.dim(2);
  // Only the tape reads `inputs`. `attend` captures `in`, `values` and `bias`
  // instead.
  Var<T> inputs[7];
  size_t num_inputs = 0;
  for (const Var<T>& input :
       {in.queries, in.keys, values, bias.distance.values,
        bias.difference.queries, bias.difference.keys, in.x}) {
    if (input.has_value()) inputs[num_inputs++] = input;
  }
  const auto attend = [this, in, values, q, keys, bias, rows,
                       forward = &forward](absl::Span<const Var<T>> /*inputs*/,
                                           const RowBlock& block) {
    Tape<T>& tape = forward->tape();
    ScoreInputs<T> part = in;
    part.mask =
        in.mask.ForExample(block.example, q[0], q[2], keys, block.first);
    part.positions.first_query += block.first * in.positions.query_step;
    const auto rows_of = [&](Var<T> x) {
      return RowsOfExample(x, block.example, block.first, block.count);
    };
    part.queries = rows_of(in.queries);
    if (in.x.has_value()) part.x = rows_of(in.x);
    ScoreBiases<T> biases = bias;
    if (bias.difference.has_value()) {
      biases.difference.queries = rows_of(bias.difference.queries);
    }
    const ExampleRandomScope<T> example(tape, block.example);
    const RowStatisticsWriter reader = {
        tape.in_backward() ? AttentionStatistics() : rows,
        WeightBlockPositionOf(part.positions, block.example, block.first)};
    if (CanAttendToKeyRuns()) {
      return AttendToKeyRuns(*forward, part, values, biases, block.example,
                             reader);
    }
    const VisibleKeys range =
        MaskReader(part.mask, part.positions, 1, block.count, keys).Range(0);
    if (range.size() == 0) {
      return tape.Full({1, q[1], block.count, values.dim(3)}, T(0));
    }
    const int64_t begin = range.begin / kGemmDepth * kGemmDepth;
    part.mask.first_key = begin;
    part.positions.first_key += begin;
    const auto keys_of = [&](Var<T> x) {
      return RowsOfExample(x, block.example, begin, range.end - begin);
    };
    part.keys = keys_of(in.keys);
    if (bias.difference.has_value()) {
      biases.difference.keys = keys_of(bias.difference.keys);
    }
    return AttendRows(*forward, part, keys_of(values), biases, reader).context;
  };
  return RecomputeRows(forward.tape(), absl::MakeConstSpan(inputs, num_inputs),
                       {q[0], q[1], q[2], values.dim(3)}, rows_per_block,
                       attend);
}

template <typename T>
AttentionResult<T> AttentionLayer<T>::Attend(
    Forward<T>& forward, const AttendInputs<T>& inputs) const {
  const NameScope<T> scope(forward.tape(), "attention");
  ScoreInputs<T> in = inputs.score;
  in.mask = NarrowWindow(in.mask);
  if (parts_.position_encoding != nullptr) {
    in.queries = parts_.position_encoding->Encode(
        forward, in.queries, in.positions.first_query, in.positions.query_step);
  }
  const ScoreBiases<T> bias =
      Bias(forward, in, in.queries.dim(2), in.keys.dim(2));
  in.queries = forward.Site("queries", in.queries);
  in.keys = forward.Site("keys", in.keys);
  const Var<T> values = forward.Site("values", inputs.values);
  if (parts_.selection != nullptr) {
    in.mask.selected = parts_.selection->Select(forward, in);
  }
  std::optional<Var<T>> context;
  if (inputs.context_only && !HookNeedsStoredWeights(forward)) {
    const AttentionStatistics rows =
        forward.NewRowStatistics("weights", in.queries.shape());
    context = BlockedContext(forward, in, values, bias, rows);
    if (!context.has_value()) {
      const int64_t block = RowsPerBlock(forward, in, values);
      if (block > 0) {
        context = AttendInBlocks(forward, in, values, bias, block, rows);
      }
    }
    if (context.has_value()) forward.PassRowStatistics("weights", rows);
  }
  if (context.has_value()) {
    const auto scores = [&] { return Scores(forward, in); };
    forward.LazySite("scores", scores);
    forward.LazySite("weights",
                     [&] { return Normalize(forward, scores(), in, bias); });
    return {forward.Site("context", *context), Var<T>()};
  }
  AttentionResult<T> attended = AttendRows(forward, in, values, bias);
  attended.context = forward.Site("context", attended.context);
  if (inputs.context_only) attended.weights = {};
  return attended;
}

REGARD_INSTANTIATE_CLASS(AttentionLayer);

}  // namespace regard
