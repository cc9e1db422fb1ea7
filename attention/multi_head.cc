#include "attention/multi_head.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Whether a kernel reads keys [batch, keys, key heads * width] efficiently in
// this layout. Rows at multiples of 2 KiB share few sets of the first-level
// cache. If several blocks of queries read such rows, cache misses cost more
// than a copy.
template <typename T>
bool FitSideBySide(int64_t queries, Var<T> keys) {
  constexpr int64_t kBlock = 128;
  constexpr int64_t kFewPlaces = 2048 / sizeof(T);
  return queries <= kBlock || keys.dim(2) % kFewPlaces != 0;
}

// Number of successive heads that must share a key head and a value head.
int64_t JoinedHeads(const AttentionRegistry& scorers, const MultiHead& config) {
  if (!config.has_head_output()) return 1;
  const HeadOutputInfo* const info =
      scorers.head_outputs.Find(config.head_output());
  return info == nullptr ? 1 : info->joined_heads;
}

// Widths of the heads' keys, without the rotary part that `latent` adds.
ScoreWidths KeyWidths(const AttentionRegistry& scorers, const MultiHead& config,
                      const MultiHeadInputWidths& widths) {
  const int64_t width = config.head_width() > 0 ? config.head_width()
                                                : widths.query / config.heads();
  const int64_t key_heads = config.key_heads() > 0
                                ? config.key_heads()
                                : config.heads() / JoinedHeads(scorers, config);
  return {.heads = config.heads(),
          .query = width,
          .key = width,
          .key_heads = key_heads,
          .query_input = widths.query,
          .key_input = widths.key,
          .slots = widths.slots};
}

HeadOutputWidths OutputWidths(const AttentionRegistry& scorers,
                              const MultiHead& config,
                              const MultiHeadInputWidths& widths) {
  const ScoreWidths of_head = KeyWidths(scorers, config, widths);
  return {
      .heads = of_head.heads,
      .key_heads = of_head.key_heads,
      .value_heads =
          config.value_heads() > 0 ? config.value_heads() : of_head.key_heads,
      .value = config.value_width() > 0 ? config.value_width() : of_head.query,
      .input = widths.query};
}

LatentAttentionWidths WidthsOfLatent(const AttentionRegistry& scorers,
                                     const MultiHead& config,
                                     const MultiHeadInputWidths& widths) {
  const HeadOutputWidths extents = OutputWidths(scorers, config, widths);
  return {.query_input = widths.query,
          .key_input = widths.key,
          .heads = extents.heads,
          .key_heads = extents.key_heads,
          .value_heads = extents.value_heads,
          .head = KeyWidths(scorers, config, widths).key};
}

ScoreWidths HeadWidths(const AttentionRegistry& scorers,
                       const MultiHead& config,
                       const MultiHeadInputWidths& widths) {
  if (!HasLatent(config)) return KeyWidths(scorers, config, widths);
  const LatentAttentionWidths of_latent =
      WidthsOfLatent(scorers, config, widths);
  ScoreWidths of_score = LatentScoreWidths(
      LatentWithDefaults(config.latent(), of_latent), of_latent);
  of_score.slots = widths.slots;
  return of_score;
}

// Input widths of the query, key and value projections.
MultiHeadInputWidths ProjectedWidths(const AttentionRegistry& scorers,
                                     const MultiHead& config,
                                     MultiHeadInputWidths widths) {
  if (!HasLatent(config)) return widths;
  const Latent latent = LatentWithDefaults(
      config.latent(), WidthsOfLatent(scorers, config, widths));
  if (latent.query_rank() > 0) widths.query = latent.query_rank();
  widths.key = widths.value = latent.rank();
  return widths;
}

template <typename T>
std::unique_ptr<HeadOutput<T>> CreateHeadOutput(
    const AttentionRegistry& scorers, const MultiHead& config,
    const ParameterScope<T>& scope, HeadOutputWidths widths,
    const LinearOptions& inputs) {
  if (!config.has_head_output()) return nullptr;
  widths.initialization = inputs.initialization;
  if (widths.initialization == nullptr) {
    widths.initialization = [](int64_t /*outputs*/, int64_t inputs) {
      return LinearDefault(inputs);
    };
  }
  return scorers.head_outputs.Create<T>(config.head_output(),
                                        scope.Sub("head_output"), widths);
}

int64_t OutputWidth(const MultiHead& config,
                    const MultiHeadInputWidths& widths) {
  return config.output_width() > 0 ? config.output_width() : widths.query;
}

LinearOptions Projection(LinearOptions options, bool bias) {
  options.bias = bias;
  return options;
}

// Checks the numbers of heads, and the head output if there is one. Returns
// true if there is no problem.
bool ValidateHeadOutput(const AttentionRegistry& scorers,
                        const MultiHead& config,
                        const MultiHeadInputWidths& widths,
                        ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  const int64_t joined = JoinedHeads(scorers, config);
  if (config.heads() % joined != 0) {
    problems.Add("heads", absl::StrCat("must be a multiple of ", joined,
                                       ", the number of heads that "
                                       "head_output joins; got ",
                                       config.heads()));
    return false;
  }
  const HeadOutputWidths extents = OutputWidths(scorers, config, widths);
  for (const auto& [path, number] :
       {std::pair("key_heads", extents.key_heads),
        std::pair("value_heads", extents.value_heads)}) {
    const int64_t sharing = config.heads() / joined;
    if (sharing % number == 0) continue;
    problems.Add(
        path,
        joined == 1
            ? absl::StrCat("must divide `heads` (", sharing, "); got ", number)
            : absl::StrCat("must divide `heads` / ", joined, " (", sharing,
                           "), as the heads that head_output "
                           "joins share keys and values; got ",
                           number));
    return false;
  }
  if (!config.has_head_output()) return true;
  const ConfigProblems::Scope scope(problems, "head_output");
  scorers.head_outputs.ValidateChoice(config.head_output(), problems, extents);
  return problems.problems().size() == before;
}

// Checks the fields of `latent`, and its combination with all fields except the
// score. Returns true if there is no problem.
bool ValidateOwnLatent(const AttentionRegistry& scorers,
                       const MultiHead& config,
                       const MultiHeadInputWidths& widths,
                       ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  for (const auto& [path, number] :
       {std::pair("key_heads", config.key_heads()),
        std::pair("value_heads", config.value_heads())}) {
    if (number == 0) continue;
    problems.Add(path, absl::StrCat("cannot be combined with `latent`, from "
                                    "which each head has keys and values of "
                                    "its own; remove it or `latent`; got ",
                                    number));
  }
  if (config.has_query_key_norm() &&
      config.query_key_norm().kind() != QueryKeyNormConfig::NONE) {
    problems.Add("query_key_norm",
                 "cannot be combined with `latent`, which has a norm of its "
                 "own; remove it or `latent`");
  }
  if (widths.key != widths.value) {
    problems.Add("latent", absl::StrCat("requires keys and values of one "
                                        "input, but their widths are ",
                                        widths.key, " and ", widths.value));
  }
  if (problems.problems().size() > before) return false;
  const ConfigProblems::Scope scope(problems, "latent");
  ValidateLatent(config.latent(), WidthsOfLatent(scorers, config, widths),
                 problems);
  return problems.problems().size() == before;
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

bool HasLatent(const MultiHead& config) {
  return config.has_latent() && !config.latent().has_none();
}

void ValidateMultiHead(const AttentionRegistry& scorers,
                       const MultiHead& config,
                       const MultiHeadInputWidths& widths,
                       ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  problems.CheckOwnRanges(config);
  problems.CheckRanges(config.query_key_norm(), "query_key_norm");
  for (const auto& [path, number] :
       {std::pair("key_heads", config.key_heads()),
        std::pair("value_heads", config.value_heads())}) {
    problems.RequireInRange(path, number, 0, std::max(config.heads(), 0));
  }
  // The concatenated heads must fit into one axis of a shape.
  for (const auto& [path, number] :
       {std::pair("head_width", config.head_width()),
        std::pair("value_width", config.value_width())}) {
    problems.RequireInRange(
        path, number, 0,
        std::min(1 << 20, (1 << 30) / std::max(config.heads(), 1)));
  }
  if (problems.problems().size() > before) return;
  if (config.head_width() == 0 && widths.query % config.heads() != 0) {
    problems.Add(
        "heads",
        absl::StrCat("must divide the width of the queries (", widths.query,
                     ") unless `head_width` is set; got ", config.heads()));
    return;
  }
  if (!ValidateHeadOutput(scorers, config, widths, problems)) return;
  if (!HasLatent(config)) {
    const ConfigProblems::Scope scope(problems, "latent");
    ValidateNoLatent(config.latent(), problems);
  } else if (!ValidateOwnLatent(scorers, config, widths, problems)) {
    return;
  }
  {
    const ConfigProblems::Scope scope(problems, "attention");
    scorers.Validate(config.attention(), HeadWidths(scorers, config, widths),
                     problems);
  }
  const ScorerInfo* info = scorers.Find(config.attention());
  if (info != nullptr && info->uses_history) {
    problems.Add(
        "attention",
        absl::StrCat(
            info->name,
            " reads the weights of earlier queries, but multi-head attention "
            "compares all queries at once; use it in a recurrent decoder"));
  }
  if (HasLatent(config) && problems.problems().size() == before) {
    const LatentAttentionWidths of_latent =
        WidthsOfLatent(scorers, config, widths);
    ValidateLatentAttention(scorers, config.attention(),
                            LatentWithDefaults(config.latent(), of_latent),
                            of_latent, problems);
  }
}

template <typename T>
MultiHeadAttention<T>::MultiHeadAttention(
    const AttentionRegistry& scorers, const MultiHead& config,
    const ParameterScope<T>& scope, const MultiHeadInputWidths& widths,
    const MultiHeadInitialization& initialization)
    : extents_(OutputWidths(scorers, config, widths)),
      head_output_(CreateHeadOutput(scorers, config, scope, extents_,
                                    initialization.inputs)),
      query_(scope.Sub("query"), ProjectedWidths(scorers, config, widths).query,
             extents_.heads * HeadWidths(scorers, config, widths).query,
             Projection(initialization.inputs,
                        config.bias() && config.latent().query_rank() == 0)),
      key_(scope.Sub("key"), ProjectedWidths(scorers, config, widths).key,
           extents_.key_heads * KeyWidths(scorers, config, widths).key,
           Projection(initialization.inputs,
                      config.bias() && !HasLatent(config))),
      value_(scope.Sub("value"), ProjectedWidths(scorers, config, widths).value,
             extents_.value_heads * extents_.value,
             Projection(initialization.inputs,
                        config.bias() && !HasLatent(config))),
      output_(scope.Sub("output"),
              head_output_ == nullptr ? extents_.heads * extents_.value
                                      : head_output_->Width(),
              OutputWidth(config, widths),
              Projection(initialization.output, config.has_output_bias()
                                                    ? config.output_bias()
                                                    : config.bias())),
      attention_(scorers, config.attention(), scope.Sub("score"),
                 HeadWidths(scorers, config, widths)) {
  if (config.has_query_key_norm()) {
    const ScoreWidths of_head = HeadWidths(scorers, config, widths);
    query_norm_.emplace(config.query_key_norm(), scope.Sub("query_norm"),
                        of_head.heads, of_head.query);
    key_norm_.emplace(config.query_key_norm(), scope.Sub("key_norm"),
                      of_head.key_heads, of_head.key);
  }
  if (!HasLatent(config)) return;
  const LatentAttentionWidths of_latent =
      WidthsOfLatent(scorers, config, widths);
  latent_.emplace(scorers, LatentWithDefaults(config.latent(), of_latent),
                  scope, of_latent,
                  Projection(initialization.inputs, config.bias()));
}

template <typename T>
bool MultiHeadAttention<T>::ReadsHeadsSideBySide() const {
  return extents_.key_heads == extents_.value_heads &&
         attention_.ReadsHeadsSideBySide();
}

template <typename T>
PreparedSource<T> MultiHeadAttention<T>::Prepare(Forward<T>& forward,
                                                 Var<T> keys, Var<T> values,
                                                 int64_t key_position,
                                                 LayerState<T>* state) const {
  if (latent_.has_value()) {
    REGARD_CHECK(keys.node() == values.node())
        << "latent keys and values have one input";
    const auto [latents, rotary] =
        latent_->Prepare(forward, keys, key_position);
    return {rotary, latents};
  }
  PreparedSource<T> projected = {key_(forward, keys), value_(forward, values)};
  if (key_norm_.has_value()) {
    projected.keys = (*key_norm_)(forward, projected.keys);
  }
  // A hook receives split heads. The memory of a search is split here once, and
  // not in each step. With a state, the layout must not depend on hooks,
  // because the state keeps it between steps.
  if (ReadsHeadsSideBySide() &&
      (state != nullptr || !attention_.HasHookBeyondRowStatistics(forward))) {
    return projected;
  }
  return {attention_.Prepare(
              forward, {.keys = SplitHeads(projected.keys, extents_.key_heads),
                        .key_position = key_position,
                        .x = keys,
                        .state = state}),
          SplitHeads(projected.values, extents_.value_heads)};
}

template <typename T>
Var<T> MultiHeadAttention<T>::AttendWithLatents(
    Forward<T>& forward, Var<T> queries, const PreparedSource<T>& source,
    const MultiHeadInputs<T>& inputs) const {
  const typename LatentKeyValueLayer<T>::Maps maps = {key_, value_};
  const Var<T> projected = SplitHeads(
      query_(forward, latent_->QueryInput(forward, queries)), extents_.heads);
  const auto [of_heads, keys, values] = latent_->HeadOperands(
      forward, projected, {source.values, source.keys}, maps, inputs.positions);
  AttendInputs<T> in;
  in.score.queries = of_heads;
  // Each call prepares all keys again, so Prepare() needs no state.
  in.score.keys = attention_.Prepare(
      forward, {.keys = keys, .key_position = inputs.positions.first_key});
  in.score.x = queries;
  in.score.state = inputs.state;
  in.score.positions = inputs.positions;
  in.score.mask = inputs.mask;
  in.values = values;
  in.context_only = true;
  return MergeHeads(
      latent_->Context(forward, attention_.Attend(forward, in).context, maps));
}

template <typename T>
Var<T> MultiHeadAttention<T>::Project(Forward<T>& forward, Var<T> context,
                                      Var<T> x) const {
  if (head_output_ != nullptr) {
    const Var<T> by_heads = context.Reshape(
        {context.dim(0), context.dim(1), extents_.heads, extents_.value});
    context =
        forward.Site("head_output", head_output_->Output(forward, by_heads, x));
  }
  return output_(forward, context);
}

template <typename T>
Var<T> MultiHeadAttention<T>::operator()(
    Forward<T>& forward, Var<T> queries, const PreparedSource<T>& source,
    const MultiHeadInputs<T>& inputs) const {
  if (latent_.has_value()) {
    return Project(forward, AttendWithLatents(forward, queries, source, inputs),
                   queries);
  }
  AttendInputs<T> in;
  in.score.queries = query_(forward, queries);
  if (query_norm_.has_value()) {
    in.score.queries = (*query_norm_)(forward, in.score.queries);
  }
  in.score.keys = source.keys;
  in.score.x = queries;
  in.score.state = inputs.state;
  in.score.positions = inputs.positions;
  in.score.mask = inputs.mask;
  in.values = source.values;
  if (source.keys.shape().rank() == 3) {
    if (FitSideBySide(queries.dim(1), source.keys) &&
        !attention_.HasHookBeyondRowStatistics(forward)) {
      return Project(forward,
                     attention_.ContextSideBySide(forward, in.score, in.values,
                                                  extents_.heads),
                     queries);
    }
    in.score.keys = SplitHeads(in.score.keys, extents_.key_heads);
    in.values = SplitHeads(in.values, extents_.value_heads);
  }
  in.score.queries = SplitHeads(in.score.queries, extents_.heads);
  in.context_only = true;
  return Project(forward, MergeHeads(attention_.Attend(forward, in).context),
                 queries);
}

REGARD_INSTANTIATE_FUNCTION(SplitHeads);
REGARD_INSTANTIATE_FUNCTION(MergeHeads);
REGARD_INSTANTIATE_CLASS(MultiHeadAttention);

}  // namespace regard
