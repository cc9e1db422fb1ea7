#include "attention/relative_scores.h"

#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The rows of the table that positions need, from the largest negative distance
// to the largest positive one: query_step * (queries - 1) + keys of them.
template <typename T>
Var<T> NeededRows(Var<T> table, const RelativePositions& positions) {
  REGARD_CHECK(table.shape().rank() == 2 && table.dim(0) % 2 == 1)
      << "a table of " << table.shape();
  const int64_t max_position = (table.dim(0) + 1) / 2;
  const int64_t lowest = positions.offset - (positions.keys - 1);
  const int64_t highest =
      positions.offset + positions.query_step * (positions.queries - 1);
  REGARD_CHECK(-lowest < max_position && highest < max_position)
      << "relative positions " << lowest << " to " << highest
      << ", but the embedding has those below " << max_position;
  return Slice(table, 0, lowest + max_position - 1, highest - lowest + 1);
}

// products [batch, heads, queries or keys, distances] -> scores [batch, heads,
// queries, keys]: score (l, r) is at distance query_step * l - r + keys - 1 of
// its row l, or r where rows are keys.
template <typename T>
Var<T> TakeDistances(Var<T> products, const RelativePositions& positions,
                     bool rows_are_keys) {
  const int64_t queries = positions.queries;
  const int64_t keys = positions.keys;
  const int64_t blocks = products.dim(0) * products.dim(1);
  const int64_t block = products.dim(2) * products.dim(3);
  const int64_t distances = products.dim(3);
  const int64_t step = positions.query_step;
  const auto source = [=](int64_t l, int64_t r) {
    return (rows_are_keys ? r : l) * distances + step * l - r + keys - 1;
  };
  Var<T> scores = products.tape().New(
      {products.dim(0), products.dim(1), queries, keys}, products.needs_grad());
  T* out = scores.data();
  for (int64_t i = 0; i < blocks; ++i) {
    const T* in = products.data() + i * block;
    for (int64_t l = 0; l < queries; ++l) {
      for (int64_t r = 0; r < keys; ++r) *out++ = in[source(l, r)];
    }
  }
  products.tape().Record("TakeDistances", scores, [=] {
    const T* d_out = scores.grad_data();
    auto d = products.grad_ref();
    T* const d_in = d.BeginPartial();
    for (int64_t i = 0; i < blocks; ++i) {
      for (int64_t l = 0; l < queries; ++l) {
        for (int64_t r = 0; r < keys; ++r) {
          d_in[i * block + source(l, r)] += *d_out++;
        }
      }
    }
  });
  return scores;
}

}  // namespace

template <typename T>
Var<T> RelativeQueryScores(Var<T> queries, Var<T> table,
                           const RelativePositions& positions) {
  REGARD_CHECK_EQ(queries.dim(2), positions.queries);
  return TakeDistances(
      MatMul(queries, NeededRows(table, positions), {.b = true}), positions,
      /*rows_are_keys=*/false);
}

template <typename T>
Var<T> RelativeKeyScores(Var<T> keys, Var<T> table,
                         const RelativePositions& positions) {
  REGARD_CHECK_EQ(keys.dim(2), positions.keys);
  return TakeDistances(MatMul(keys, NeededRows(table, positions), {.b = true}),
                       positions, /*rows_are_keys=*/true);
}

template Var<float> RelativeQueryScores(Var<float>, Var<float>,
                                        const RelativePositions&);
template Var<double> RelativeQueryScores(Var<double>, Var<double>,
                                         const RelativePositions&);
template Var<float> RelativeKeyScores(Var<float>, Var<float>,
                                      const RelativePositions&);
template Var<double> RelativeKeyScores(Var<double>, Var<double>,
                                       const RelativePositions&);

}  // namespace regard
