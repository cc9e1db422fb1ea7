#include "attention/multi_head.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Whether a kernel reads keys [batch, keys, key heads * width] well where they
// are. Rows at a multiple of 2 KiB fall on few places of the first cache, which
// costs more than a copy if several blocks of queries read them.
template <typename T>
bool FitSideBySide(int64_t queries, Var<T> keys) {
  constexpr int64_t kBlock = 128;
  constexpr int64_t kFewPlaces = 2048 / sizeof(T);
  return queries <= kBlock || keys.dim(2) % kFewPlaces != 0;
}

ScoreWidths HeadWidths(const MultiHead& config, const MultiHeadWidths& widths) {
  const int64_t width = config.head_width() > 0 ? config.head_width()
                                                : widths.query / config.heads();
  return {.heads = config.heads(),
          .query = width,
          .key = width,
          .key_heads =
              config.key_heads() > 0 ? config.key_heads() : config.heads()};
}

int64_t OutputWidth(const MultiHead& config, const MultiHeadWidths& widths) {
  return config.output_width() > 0 ? config.output_width() : widths.query;
}

LinearOptions Projection(LinearOptions options, bool bias) {
  options.bias = bias;
  return options;
}

}  // namespace

template <typename T>
Var<T> SplitHeads(Var<T> x, int64_t heads) {
  REGARD_CHECK(x.shape().rank() == 3 && heads > 0 && x.dim(2) % heads == 0)
      << heads << " heads of " << x.shape();
  const Var<T> split = x.Reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads});
  return Permute(split, {0, 2, 1, 3});
}

template <typename T>
Var<T> MergeHeads(Var<T> x) {
  REGARD_CHECK_EQ(x.shape().rank(), 4) << x.shape();
  return Permute(x, {0, 2, 1, 3})
      .Reshape({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

void ValidateMultiHead(const AttentionRegistry& scorers,
                       const MultiHead& config, const MultiHeadWidths& widths,
                       ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  problems.CheckOwnRanges(config);
  problems.RequireInRange("key_heads", config.key_heads(), 0,
                          std::max(config.heads(), 0));
  // The heads side by side are one extent of a shape.
  problems.RequireInRange(
      "head_width", config.head_width(), 0,
      std::min(1 << 20, (1 << 30) / std::max(config.heads(), 1)));
  if (problems.problems().size() > before) return;
  if (config.head_width() == 0 && widths.query % config.heads() != 0) {
    problems.Add(
        "heads",
        absl::StrCat("must divide the width of the queries (", widths.query,
                     ") unless `head_width` is set; got ", config.heads()));
    return;
  }
  const ScoreWidths of_head = HeadWidths(config, widths);
  if (config.heads() % of_head.key_heads != 0) {
    problems.Add("key_heads",
                 absl::StrCat("must divide `heads` (", config.heads(),
                              "); got ", of_head.key_heads));
    return;
  }
  const ConfigProblems::Scope scope(problems, "attention");
  scorers.Validate(config.attention(), of_head, problems);
  const ScorerInfo* info = scorers.Find(config.attention());
  if (info != nullptr && info->uses_history) {
    problems.Add(
        "",
        absl::StrCat(
            info->name,
            " reads the weights of earlier queries, but multi-head attention "
            "compares all queries at once; use it in a recurrent decoder"));
  }
}

template <typename T>
MultiHeadAttention<T>::MultiHeadAttention(
    const AttentionRegistry& scorers, const MultiHead& config,
    const ParameterScope<T>& scope, const MultiHeadWidths& widths,
    const MultiHeadInitialization& initialization)
    : heads_(config.heads()),
      key_heads_(HeadWidths(config, widths).key_heads),
      head_width_(HeadWidths(config, widths).query),
      query_(scope.Sub("query"), widths.query, heads_ * head_width_,
             Projection(initialization.inputs, config.bias())),
      key_(scope.Sub("key"), widths.key, key_heads_ * head_width_,
           Projection(initialization.inputs, config.bias())),
      value_(scope.Sub("value"), widths.value, key_heads_ * head_width_,
             Projection(initialization.inputs, config.bias())),
      output_(scope.Sub("output"), heads_ * head_width_,
              OutputWidth(config, widths),
              Projection(initialization.output, config.has_output_bias()
                                                    ? config.output_bias()
                                                    : config.bias())),
      attention_(scorers, config.attention(), scope.Sub("score"),
                 HeadWidths(config, widths)) {}

template <typename T>
PreparedSource<T> MultiHeadAttention<T>::Prepare(Forward<T>& forward,
                                                 Var<T> keys, Var<T> values,
                                                 int64_t key_position) const {
  const PreparedSource<T> projected = {key_(forward, keys),
                                       value_(forward, values)};
  if (attention_.ReadsHeadsSideBySide()) return projected;
  return {attention_.Prepare(forward, SplitHeads(projected.keys, key_heads_),
                             key_position),
          SplitHeads(projected.values, key_heads_)};
}

template <typename T>
Var<T> MultiHeadAttention<T>::operator()(Forward<T>& forward, Var<T> queries,
                                         const PreparedSource<T>& source,
                                         const MultiHeadInputs& inputs) const {
  AttendInputs<T> in;
  in.score.queries = query_(forward, queries);
  in.score.keys = source.keys;
  in.score.positions = inputs.positions;
  in.score.mask = inputs.mask;
  in.values = source.values;
  if (attention_.ReadsHeadsSideBySide()) {
    if (FitSideBySide(queries.dim(1), source.keys) &&
        !attention_.IsWatched(forward)) {
      return output_(forward, attention_.ContextSideBySide(forward, in.score,
                                                           in.values, heads_));
    }
    in.score.keys = SplitHeads(in.score.keys, key_heads_);
    in.values = SplitHeads(in.values, key_heads_);
  }
  in.score.queries = SplitHeads(in.score.queries, heads_);
  in.fused_score = true;
  return output_(forward, MergeHeads(attention_.Attend(forward, in).context));
}

REGARD_INSTANTIATE_FUNCTION(SplitHeads);
REGARD_INSTANTIATE_FUNCTION(MergeHeads);
REGARD_INSTANTIATE_CLASS(MultiHeadAttention);

}  // namespace regard
