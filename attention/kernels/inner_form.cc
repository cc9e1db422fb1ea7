#include "attention/kernels/inner_form.h"

#include <cstddef>
#include <cstdint>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

namespace {

template <typename T>
Var<T> Scaled(Var<T> x, T factor) {
  return factor == T(1) ? x : x * factor;
}

// Appends a column to rows [.., width]. Appends 1s if `column` is empty.
template <typename T>
Var<T> WithColumn(Var<T> rows, Var<T> column) {
  if (!column.has_value()) {
    column = rows.tape().Full(rows.shape().With(-1, 1), T(1));
  }
  const Var<T> parts[] = {rows, column};
  return Concat<T>(parts, /*axis=*/-1);
}

// Expands the bias to [heads, queries, keys]. There must be at least one query.
template <typename T>
Var<T> DenseBias(const DistanceBias<T>& bias, const Positions& positions,
                 const Shape& scores) {
  bias.CheckCovers(bias.values.tape(), positions, scores);
  const int64_t queries = scores[2];
  auto* const rows = bias.values.tape().arena().template New<Var<T>>(queries);
  for (int64_t q = 0; q < queries; ++q) {
    const int64_t first = bias.IndexOf(0, positions.Offset(q));
    rows[q] = Slice(bias.values, /*axis=*/1, first, scores[3]);
  }
  return Stack<T>({rows, static_cast<size_t>(queries)}, /*axis=*/1);
}

// Returns the sum of form.difference_bias and the biases of queries and of keys
// in `form`, as one DifferenceBias.
template <typename T>
DifferenceBias<T> RowBiases(const InnerForm<T>& form) {
  const Shape& a = form.a.shape();
  const Shape& b = form.b.shape();
  Tape<T>& tape = form.a.tape();
  Var<T> queries = form.query_bias;
  if (!queries.has_value()) queries = tape.Full(a.With(3, 1), T(0));
  const Shape of_keys = {b[0], b[1], 1, b[2]};
  Var<T> keys = tape.Full({b[0], b[1], a[1] / b[1], b[2]}, T(0));
  if (form.key_bias.has_value()) {
    // Groups of consecutive heads share the biases of one key head.
    keys = keys - form.key_bias.Reshape(of_keys);
  }
  keys = keys.Reshape({b[0], a[1], b[2], 1});
  const DifferenceBias<T>& more = form.difference_bias;
  if (!more.has_value()) return {queries, keys};
  return {queries + more.queries, keys + more.keys};
}

}  // namespace

template <typename T>
InnerForm<T> FoldBiasesIntoOperands(const InnerForm<T>& form) {
  InnerForm<T> joined = form;
  joined.query_bias = joined.key_bias = {};
  if (!form.query_bias.has_value() && !form.key_bias.has_value()) return joined;
  if (Rounds<T>(form.a.tape().precision())) {
    joined.difference_bias = RowBiases(form);
    return joined;
  }
  joined.a = Scaled(form.a, form.factor);
  joined.factor = T(1);
  if (form.query_bias.has_value()) {
    joined.a = WithColumn(joined.a, form.query_bias);
    joined.b = WithColumn(joined.b, {});
  }
  if (form.key_bias.has_value()) {
    joined.a = WithColumn(joined.a, {});
    joined.b = WithColumn(joined.b, form.key_bias);
  }
  return joined;
}

template <typename T>
Var<T> AddDifferenceBias(Var<T> scores, const DifferenceBias<T>& bias) {
  if (!bias.has_value()) return scores;
  bias.CheckCovers(scores.tape(), scores.shape());
  const Shape& s = scores.shape();
  return scores + (bias.queries - bias.keys.Reshape({s[0], s[1], 1, s[3]}));
}

template <typename T>
Var<T> DenseScores(const InnerForm<T>& form, const Positions& positions) {
  const InnerForm<T> joined = FoldBiasesIntoOperands(form);
  // Products that round their operands are scaled afterwards, so that the
  // factor does not change how queries are rounded.
  const bool rounds = Rounds<T>(form.a.tape().precision());
  const Var<T> products =
      rounds ? Scaled(InnerProducts(joined.a, joined.b), joined.factor)
             : InnerProducts(Scaled(joined.a, joined.factor), joined.b);
  const Var<T> scores = AddDifferenceBias(products, joined.difference_bias);
  const DistanceBias<T>& bias = form.distance_bias;
  if (!bias.has_value() || scores.size() == 0) return scores;
  return scores + DenseBias(bias, positions, scores.shape());
}

template <typename T>
Var<T> InnerProducts(Var<T> queries, Var<T> keys) {
  const Shape q = queries.shape();
  const int64_t key_heads = keys.dim(1);
  if (key_heads == q[1]) return MatMul(queries, keys, {.b = true});
  // Queries of heads that share keys are contiguous.
  const Var<T> grouped =
      queries.Reshape({q[0], key_heads, q[1] / key_heads * q[2], q[3]});
  return MatMul(grouped, keys, {.b = true})
      .Reshape({q[0], q[1], q[2], keys.dim(2)});
}

REGARD_INSTANTIATE_FUNCTION(FoldBiasesIntoOperands);
REGARD_INSTANTIATE_FUNCTION(AddDifferenceBias);
REGARD_INSTANTIATE_FUNCTION(DenseScores);
REGARD_INSTANTIATE_FUNCTION(InnerProducts);

}  // namespace regard
