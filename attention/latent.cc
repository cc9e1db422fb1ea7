#include "attention/latent.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/position_encodings/position_encoding.pb.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

namespace {

// [batch, n, heads * width] -> [batch, heads, n, width].
template <typename T>
Var<T> ReshapeToHeads(Var<T> x, int64_t heads) {
  return Permute(x.Reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}),
                 {0, 2, 1, 3});
}

// Multiplies x [batch, heads, n, in] by one matrix for each of `groups` groups
// of successive heads: [batch, heads, n, out].
template <typename T>
Var<T> TimesMatrices(Var<T> x, Var<T> matrices, int64_t groups,
                     Transpositions transposed) {
  const Shape s = x.shape();
  const Shape m = matrices.shape();
  const Var<T> product =
      MatMul(x.Reshape({s[0], groups, s[1] / groups * s[2], s[3]}),
             matrices.Reshape({groups, m[0] / groups, m[1]}), transposed);
  return product.Reshape({s[0], s[1], s[2], product.dim(3)});
}

// Returns the first `width` columns of x, and the remaining columns.
template <typename T>
std::pair<Var<T>, Var<T>> Parts(Var<T> x, int64_t width) {
  return {Slice(x, /*axis=*/-1, 0, width),
          Slice(x, /*axis=*/-1, width, x.dim(-1) - width)};
}

// Concatenates `a` and `b` along the last axis.
template <typename T>
Var<T> Joined(Var<T> a, Var<T> b) {
  const Var<T> parts[] = {a, b};
  return Concat<T>(parts, /*axis=*/-1);
}

}  // namespace

Latent LatentWithDefaults(const Latent& options,
                          const LatentAttentionWidths& widths) {
  Latent complete = options;
  if (options.rank() == 0) {
    complete.set_rank(static_cast<int32_t>(
        std::max<int64_t>(std::min(4 * widths.head, widths.key_input / 2), 1)));
  }
  if (!options.has_rotary_width()) {
    complete.set_rotary_width(static_cast<int32_t>(widths.head / 4 * 2));
  }
  return complete;
}

ScoreWidths LatentScoreWidths(const Latent& complete,
                              const LatentAttentionWidths& widths) {
  const int64_t width = widths.head + complete.rotary_width();
  return {
      .heads = widths.heads,
      .query = width,
      .key = width,
      .key_heads = complete.form() == Latent::ABSORBED ? 1 : widths.key_heads,
      .query_input = widths.query_input};
}

void ValidateLatent(const Latent& options, const LatentAttentionWidths& widths,
                    ConfigProblems& problems) {
  problems.CheckRanges(options);
  if (options.rotary_width() % 2 != 0) {
    problems.Add("rotary_width",
                 absl::StrCat("must be even, because elements are rotated in "
                              "pairs; got ",
                              options.rotary_width()));
  }
  // The concatenated heads must fit into one axis of a shape.
  const int64_t most = (int64_t{1} << 30) / widths.heads - widths.head;
  if (options.rotary_width() > most) {
    problems.Add("rotary_width",
                 absl::StrCat("heads * (head_width + rotary_width) must be at "
                              "most 2^30; got ",
                              options.rotary_width(), ", at most ", most));
  }
  // A resolved config sets every field, so a field counts as set only if it
  // differs from its default.
  const Latent& defaults = Latent::default_instance();
  if (options.epsilon() != defaults.epsilon() && !options.norm()) {
    problems.Note("epsilon", "has no effect: `norm` is false");
  }
  if (options.rotary_base() != defaults.rotary_base() &&
      LatentWithDefaults(options, widths).rotary_width() == 0) {
    problems.Note("rotary_base", "has no effect: `rotary_width` is 0");
  }
}

void ValidateNoLatent(const Latent& options, ConfigProblems& problems) {
  problems.CheckRanges(options);
  const Latent& defaults = Latent::default_instance();
  if (options.rank() != defaults.rank() || options.has_rotary_width() ||
      options.form() != defaults.form() || options.norm() != defaults.norm() ||
      options.epsilon() != defaults.epsilon() ||
      options.query_rank() != defaults.query_rank() ||
      options.rotary_base() != defaults.rotary_base()) {
    problems.Note("none",
                  "removes the latents: the other fields of latent have no "
                  "effect");
  }
}

void ValidateLatentAttention(const AttentionRegistry& registry,
                             const Attention& attention, const Latent& complete,
                             const LatentAttentionWidths& widths,
                             ConfigProblems& problems) {
  const ScoreWidths of_score = LatentScoreWidths(complete, widths);
  ParameterStore<float> unused;
  if (attention.has_position_encoding() &&
      !registry.position_encodings
           .Create<float>(attention.position_encoding(),
                          unused.Root().Sub("position_encoding"), of_score)
           ->IsOnlyBias()) {
    problems.Add("attention.position_encoding",
                 "must not change keys if `latent` is set, because the keys of "
                 "all heads come from one latent; use latent { rotary_width: "
                 "16 }, or an encoding that adds a bias, such as alibi {}");
  }
  if (complete.form() == Latent::ABSORBED &&
      !registry.Create<float>(attention, unused.Root().Sub("score"), of_score)
           ->PlainFactor()
           .has_value()) {
    problems.Add(
        "latent.form",
        absl::StrCat(
            "ABSORBED requires a score that is a constant times q . k, such as "
            "scaled_dot {} without a learned scale; with ",
            registry.Find(attention)->name, ", use form: MATERIALISED"));
  }
}

template <typename T>
LatentKeyValueLayer<T>::LatentKeyValueLayer(const AttentionRegistry& registry,
                                            const Latent& complete,
                                            const ParameterScope<T>& scope,
                                            const LatentAttentionWidths& widths,
                                            const LinearOptions& projection)
    : options_(complete),
      widths_(widths),
      latent_(scope.Sub("latent"), widths.key_input,
              complete.rank() + complete.rotary_width(), projection) {
  const NormOptions norm = {.rms = true, .epsilon = complete.epsilon()};
  if (complete.norm()) {
    norm_.emplace(scope.Sub("latent_norm"), complete.rank(), norm);
  }
  if (complete.query_rank() > 0) {
    query_latent_.emplace(scope.Sub("query_latent"), widths.query_input,
                          complete.query_rank(), projection);
    if (complete.norm()) {
      query_norm_.emplace(scope.Sub("query_latent_norm"), complete.query_rank(),
                          norm);
    }
  }
  if (complete.rotary_width() == 0) return;
  PositionEncodingConfig encoding;
  encoding.mutable_rotary()->set_style(RotaryEncoding::INTERLEAVED);
  encoding.mutable_rotary()->set_base(complete.rotary_base());
  rotary_ = registry.position_encodings.Create<T>(
      encoding, scope.Sub("rotary"),
      ScoreWidths{.heads = widths.heads,
                  .query = complete.rotary_width(),
                  .key = complete.rotary_width()});
}

template <typename T>
Var<T> LatentKeyValueLayer<T>::QueryInput(Forward<T>& forward, Var<T> x) const {
  if (!query_latent_.has_value()) return x;
  const Var<T> latent = (*query_latent_)(forward, x);
  return query_norm_.has_value() ? (*query_norm_)(forward, latent) : latent;
}

template <typename T>
typename LatentKeyValueLayer<T>::Source LatentKeyValueLayer<T>::Prepare(
    Forward<T>& forward, Var<T> x, int64_t key_position) const {
  const Var<T> rows = latent_(forward, x);
  Source source;
  source.latents = rows.Reshape({x.dim(0), 1, x.dim(1), rows.dim(2)});
  if (rotary_ == nullptr) {
    source.rotary = forward.tape().Constant({x.dim(0), 1, x.dim(1), 0});
  } else {
    const auto [latents, rotary] = Parts(source.latents, options_.rank());
    source.latents = latents;
    source.rotary = rotary_->Encode(forward, rotary, key_position, /*step=*/1);
  }
  if (norm_.has_value()) source.latents = (*norm_)(forward, source.latents);
  return source;
}

template <typename T>
typename LatentKeyValueLayer<T>::Operands LatentKeyValueLayer<T>::HeadOperands(
    Forward<T>& forward, Var<T> queries, const Source& source, const Maps& maps,
    const Positions& positions) const {
  Var<T> turned;
  if (rotary_ != nullptr) {
    const auto [plain, rotary] = Parts(queries, widths_.head);
    queries = plain;
    turned = rotary_->Encode(forward, rotary, positions.first_query,
                             positions.query_step);
  }
  Operands of;
  if (options_.form() == Latent::ABSORBED) {
    of.queries = TimesMatrices(queries, forward[maps.key.weight()],
                               widths_.key_heads, {});
    of.keys = of.values = source.latents;
  } else {
    const Shape& s = source.latents.shape();
    const Var<T> rows = source.latents.Reshape({s[0], s[2], s[3]});
    of.queries = queries;
    of.keys = ReshapeToHeads(maps.key(forward, rows), widths_.key_heads);
    of.values = ReshapeToHeads(maps.value(forward, rows), widths_.value_heads);
  }
  if (rotary_ == nullptr) return of;
  const Shape of_rotary = of.keys.shape().With(-1, options_.rotary_width());
  of.queries = Joined(of.queries, turned);
  of.keys = Joined(of.keys, BroadcastTo(source.rotary, of_rotary));
  return of;
}

template <typename T>
Var<T> LatentKeyValueLayer<T>::Context(Forward<T>& forward, Var<T> context,
                                       const Maps& maps) const {
  if (options_.form() != Latent::ABSORBED) return context;
  return TimesMatrices(context, forward[maps.value.weight()],
                       widths_.value_heads, {.b = true});
}

REGARD_INSTANTIATE_CLASS(LatentKeyValueLayer);

}  // namespace regard
