#include "attention/kernels/scaled_dot_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "attention/kernels/finite_values.h"
#include "attention/kernels/head_rows.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "autodiff/ops/dropout.h"

namespace regard {

namespace {

// A block of scores and one of their gradients fit a core's own cache.
constexpr int64_t kQueryBlock = 128;
constexpr int64_t kKeyBlock = 256;

template <typename T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

template <typename T>
struct Problem {
  Var<T> queries, keys, values;
  HeadRows of_queries, of_keys, of_values, of_context;
  MaskReader visible;
  T scale;
  Positions positions;
  DistanceBias<T> bias;
  DropoutMask dropout;

  int64_t heads() const { return of_queries.heads; }
  int64_t group() const { return heads() / of_keys.heads; }
  int64_t num_queries() const { return of_queries.rows; }
  int64_t num_keys() const { return of_keys.rows; }
  int64_t block_size() const {
    return std::min(kQueryBlock, num_queries()) *
           std::min(kKeyBlock, num_keys());
  }
  // Scratch for which weights of a block are kept.
  uint8_t* NewKeep() const {
    return queries.tape().scratch().template New<uint8_t>(
        dropout.drops() ? block_size() : 0);
  }
};

// Rows of queries of one head of one example.
struct QueryBlock {
  int64_t example;
  int64_t head;
  int64_t key_head;
  int64_t begin;  // first query
  int64_t count;
  int64_t row;  // of the first query, among those of all heads
  // Some query here sees a key of begin_key .. end_key - 1, and none others.
  int64_t begin_key;
  int64_t end_key;
  // Whether some key of the blocks that are read is hidden from some query.
  bool hides;

  // Blocks of keys begin at multiples of their size, so that a query's bits do
  // not depend on the others in its block.
  int64_t first_block() const { return begin_key / kKeyBlock * kKeyBlock; }
};

template <typename T, typename F>
void ForEachQueryBlock(const Problem<T>& p, F f) {
  const int64_t sources = p.queries.dim(0) * p.heads();
  for (int64_t source = 0; source < sources; ++source) {
    for (int64_t q = 0; q < p.num_queries(); q += kQueryBlock) {
      QueryBlock block = {.example = source / p.heads(),
                          .head = source % p.heads(),
                          .key_head = source % p.heads() / p.group(),
                          .begin = q,
                          .count = std::min(kQueryBlock, p.num_queries() - q),
                          .row = source * p.num_queries() + q,
                          .begin_key = p.num_keys(),
                          .end_key = 0,
                          .hides = false};
      const int64_t rows = p.visible.SameForAllQueries() ? 1 : block.count;
      for (int64_t i = 0; i < rows; ++i) {
        const VisibleKeys visible = p.visible(block.example, q + i);
        if (visible.size() == 0) continue;
        block.begin_key = std::min(block.begin_key, visible.begin);
        block.end_key = std::max(block.end_key, visible.end);
        block.hides |= visible.dense != nullptr || visible.hides();
      }
      for (int64_t i = 0; i < rows && !block.hides; ++i) {
        const VisibleKeys visible = p.visible(block.example, q + i);
        block.hides = visible.begin != block.first_block() ||
                      visible.end != block.end_key;
      }
      f(block);
    }
  }
}

template <typename T>
ConstMatrix<T> Queries(const Problem<T>& p, const QueryBlock& block) {
  const T* const data = p.queries.data();
  return p.of_queries.At(data, block.example, block.head, block.begin,
                         block.count);
}

// The matrix of a block's queries in an array of the context's shape.
template <typename T, typename X>
auto Contexts(const Problem<T>& p, const QueryBlock& block, X* data) {
  return p.of_context.At(data, block.example, block.head, block.begin,
                         block.count);
}

// Rows of keys or values that a block of queries reads. NaN and infinities are
// left out, in `copy`, if some of the rows are hidden.
template <typename T>
class KeyRows {
 public:
  KeyRows(Var<T> x, const HeadRows& rows, ScratchScope<T>& scratch)
      : x_(x), rows_(rows), copy_(scratch.New(kKeyBlock * rows.width)) {}

  ConstMatrix<T> operator()(const QueryBlock& block, int64_t first,
                            int64_t count) const {
    const T* const data = x_.data();
    return rows_.At(data, block.example, block.key_head, first, count);
  }

  ConstMatrix<T> Finite(const QueryBlock& block, int64_t first, int64_t count) {
    const ConstMatrix<T> rows = (*this)(block, first, count);
    if (!block.hides) return rows;
    if (!finite_.has_value()) finite_ = AllFinite(x_.data(), x_.size());
    if (*finite_) return rows;
    for (int64_t i = 0; i < count; ++i) {
      const T* const row = rows.data + i * rows.stride;
      for (int64_t j = 0; j < rows.cols; ++j) {
        copy_[i * rows.cols + j] = std::isfinite(row[j]) ? row[j] : T(0);
      }
    }
    return {copy_, count, rows.cols};
  }

 private:
  Var<T> x_;
  HeadRows rows_;
  T* const copy_;               // [kKeyBlock, width]
  std::optional<bool> finite_;  // whether all of x is
};

// Where the bias of query i of a block begins, for the keys from first_key on.
template <typename T>
int64_t BiasIndex(const Problem<T>& p, const QueryBlock& block, int64_t i,
                  int64_t first_key) {
  return p.bias.IndexOf(block.head, p.positions.Offset(block.begin + i)) +
         first_key;
}

// scores [count of queries, count of keys]: scaled products plus the bias, -inf
// where hidden.
template <typename T>
void ScoreBlock(const Problem<T>& p, const QueryBlock& block,
                const ConstMatrix<T>& keys, int64_t first_key, T* scores) {
  const int64_t count = keys.rows;
  Gemm(Queries(p, block), keys.Transposed(),
       MutableMatrix<T>(scores, block.count, count), GemmMode::kAssign,
       p.scale);
  for (int64_t i = 0; i < block.count; ++i) {
    T* __restrict row = scores + i * count;
    if (p.bias.has_value()) {
      const T* bias = p.bias.values.data() + BiasIndex(p, block, i, first_key);
      for (int64_t k = 0; k < count; ++k) row[k] += bias[k];
    }
    const VisibleKeys visible = p.visible(block.example, block.begin + i);
    const int64_t begin =
        std::clamp<int64_t>(visible.begin - first_key, 0, count);
    const int64_t end = std::clamp<int64_t>(visible.end - first_key, 0, count);
    std::fill(row, row + begin, kMinusInfinity<T>);
    if (visible.dense != nullptr) {
      for (int64_t k = begin; k < end; ++k) {
        if (!visible(first_key + k)) row[k] = kMinusInfinity<T>;
      }
    }
    if (first_key + begin <= visible.hidden &&
        visible.hidden < first_key + end) {
      row[visible.hidden - first_key] = kMinusInfinity<T>;
    }
    std::fill(row + end, row + count, kMinusInfinity<T>);
  }
}

// keep [count of queries, count of keys]: whether dropout keeps the weights of
// the keys from first_key on; 0 where the weight is 0 anyway.
template <typename T>
void FillKeep(const Problem<T>& p, const QueryBlock& block, int64_t first_key,
              int64_t count, uint8_t* keep) {
  std::fill_n(keep, block.count * count, uint8_t{0});
  for (int64_t i = 0; i < block.count; ++i) {
    const VisibleKeys visible = p.visible(block.example, block.begin + i);
    const int64_t begin =
        std::clamp<int64_t>(visible.begin - first_key, 0, count);
    const int64_t end = std::clamp<int64_t>(visible.end - first_key, 0, count);
    p.dropout.FillRow(block.example, block.head, block.begin + i,
                      first_key + begin, end - begin, keep + i * count + begin);
  }
}

// dropped = weights, which it may be, without what is not kept.
template <typename T>
void Drop(const Problem<T>& p, const uint8_t* keep, int64_t n, const T* weights,
          T* dropped) {
  const auto scale = static_cast<T>(p.dropout.scale());
  for (int64_t i = 0; i < n; ++i) {
    dropped[i] = keep[i] != 0 ? weights[i] * scale : T(0);
  }
}

// The softmax of each row so far: weights are exp(score - max) / sum. Of a row
// that saw nothing yet, max is -inf and sum 0.
template <typename T>
struct RowSums {
  T* max;
  T* sum;
};

template <typename T>
void ScaleRow(const MutableMatrix<T>& x, int64_t i, T factor) {
  T* __restrict row = x.data + i * x.stride;
  for (int64_t j = 0; j < x.cols; ++j) row[j] *= factor;
}

// Turns a block of scores into exp(score - max) with the new maximum, and
// scales what was summed under the old one, unless this block is the `first`.
// `decay` is scratch for a row each.
template <typename T>
void Accumulate(const QueryBlock& block, bool first, int64_t count, T* scores,
                RowSums<T> rows, T* decay, const MutableMatrix<T>& context) {
  for (int64_t i = 0; i < block.count; ++i) {
    T* const row = scores + i * count;
    const T old = rows.max[i];
    const T max = std::max(old, MaxRow(row, count));
    const bool empty = max == kMinusInfinity<T>;
    decay[i] = empty ? T(0) : old - max;
    if (empty) continue;
    rows.max[i] = max;
    for (int64_t k = 0; k < count; ++k) row[k] -= max;
  }
  Exp(scores, scores, block.count * count);
  if (first) {
    for (int64_t i = 0; i < block.count; ++i) {
      rows.sum[i] = SumRow(scores + i * count, count);
    }
    return;
  }
  Exp(decay, decay, block.count);
  for (int64_t i = 0; i < block.count; ++i) {
    rows.sum[i] = rows.sum[i] * decay[i] + SumRow(scores + i * count, count);
    ScaleRow(context, i, decay[i]);
  }
}

template <typename T>
void AttendBlock(const Problem<T>& p, const QueryBlock& block, RowSums<T> rows,
                 const KeyRows<T>& keys, KeyRows<T>& values, T* scores,
                 T* decay, uint8_t* keep, const MutableMatrix<T>& context) {
  std::fill_n(rows.max, block.count, kMinusInfinity<T>);
  if (block.end_key <= block.first_block()) {
    std::fill_n(rows.sum, block.count, T(0));
    for (int64_t i = 0; i < block.count; ++i) {
      std::fill_n(context.data + i * context.stride, context.cols, T(0));
    }
    return;
  }
  for (int64_t k = block.first_block(); k < block.end_key; k += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, block.end_key - k);
    const bool first = k == block.first_block();
    ScoreBlock(p, block, keys(block, k, count), k, scores);
    Accumulate(block, first, count, scores, rows, decay, context);
    if (p.dropout.drops()) {
      FillKeep(p, block, k, count, keep);
      Drop(p, keep, block.count * count, scores, scores);
    }
    const ConstMatrix<T> raw = values(block, k, count);
    const ConstMatrix<T> finite = values.Finite(block, k, count);
    Gemm(ConstMatrix<T>(scores, block.count, count), finite, context,
         first ? GemmMode::kAssign : GemmMode::kAdd);
    if (finite.data == raw.data) continue;
    for (int64_t i = 0; i < block.count; ++i) {
      AddNonFinite(scores + i * count, raw, context.data + i * context.stride);
    }
  }
  for (int64_t i = 0; i < block.count; ++i) {
    ScaleRow(context, i, rows.sum[i] > T(0) ? T(1) / rows.sum[i] : T(0));
  }
}

// The weights of a block again, from its scores.
template <typename T>
void Normalize(const QueryBlock& block, int64_t count, RowSums<T> rows,
               T* scores) {
  for (int64_t i = 0; i < block.count; ++i) {
    if (rows.sum[i] == T(0)) continue;  // all -inf
    const T max = rows.max[i];
    for (int64_t k = 0; k < count; ++k) scores[i * count + k] -= max;
  }
  Exp(scores, scores, block.count * count);
  for (int64_t i = 0; i < block.count; ++i) {
    if (rows.sum[i] == T(0)) continue;
    const T scale = T(1) / rows.sum[i];
    for (int64_t k = 0; k < count; ++k) scores[i * count + k] *= scale;
  }
}

// Gradients of the operands, to be added to; null if not needed.
template <typename T>
struct Gradients {
  T* queries;
  T* keys;
  T* values;
  T* bias;
};

template <typename T>
struct BackwardScratch {
  T* weights;     // [queries, keys] of the block
  T* d_weights;   // the same
  T* mean;        // [queries], sum of weights d_weights over all keys
  uint8_t* keep;  // [queries, keys] of the block
};

template <typename T>
void BackwardBlock(const Problem<T>& p, const QueryBlock& block,
                   RowSums<T> rows, const ConstMatrix<T>& context,
                   const ConstMatrix<T>& d_context, KeyRows<T>& keys,
                   KeyRows<T>& values, const BackwardScratch<T>& s,
                   const Gradients<T>& d) {
  const auto of_keys = [&](const HeadRows& of, T* gradient, int64_t first,
                           int64_t count) {
    return of.At(gradient, block.example, block.key_head, first, count);
  };
  // Of a row whose keys are all in one block, the mean comes from the weights:
  // a row that sees one key then has a gradient of exactly 0.
  const bool one_block = block.end_key - block.first_block() <= kKeyBlock;
  for (int64_t i = 0; !one_block && i < block.count; ++i) {
    s.mean[i] = DotRow(context.data + i * context.stride,
                       d_context.data + i * d_context.stride, context.cols);
  }
  for (int64_t k = block.first_block(); k < block.end_key; k += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, block.end_key - k);
    ScoreBlock(p, block, keys(block, k, count), k, s.weights);
    Normalize(block, count, rows, s.weights);
    const bool drops = p.dropout.drops();
    if (drops) FillKeep(p, block, k, count, s.keep);
    if (d.values != nullptr) {
      const T* dropped = s.weights;
      if (drops) {
        Drop(p, s.keep, block.count * count, s.weights, s.d_weights);
        dropped = s.d_weights;
      }
      Gemm(ConstMatrix<T>(dropped, block.count, count).Transposed(), d_context,
           of_keys(p.of_values, d.values, k, count), GemmMode::kAdd);
    }
    if (d.queries == nullptr && d.keys == nullptr && d.bias == nullptr) {
      continue;
    }
    Gemm(d_context, values.Finite(block, k, count).Transposed(),
         MutableMatrix<T>(s.d_weights, block.count, count));
    if (drops) {
      Drop(p, s.keep, block.count * count, s.d_weights, s.d_weights);
    }
    for (int64_t i = 0; i < block.count; ++i) {
      const T* __restrict weight = s.weights + i * count;
      T* __restrict d_score = s.d_weights + i * count;
      const T mean = one_block ? DotRow(weight, d_score, count) : s.mean[i];
      for (int64_t j = 0; j < count; ++j) {
        d_score[j] = weight[j] * (d_score[j] - mean);
      }
      if (d.bias == nullptr) continue;
      T* __restrict d_bias = d.bias + BiasIndex(p, block, i, k);
      for (int64_t j = 0; j < count; ++j) d_bias[j] += d_score[j];
    }
    const ConstMatrix<T> d_scores(s.d_weights, block.count, count);
    if (d.queries != nullptr) {
      Gemm(d_scores, keys.Finite(block, k, count),
           p.of_queries.At(d.queries, block.example, block.head, block.begin,
                           block.count),
           GemmMode::kAdd, p.scale);
    }
    if (d.keys != nullptr) {
      Gemm(d_scores.Transposed(), Queries(p, block),
           of_keys(p.of_keys, d.keys, k, count), GemmMode::kAdd, p.scale);
    }
  }
}

}  // namespace

template <typename T>
Var<T> ScaledDotAttention(
    Var<T> queries, Var<T> keys, Var<T> values, const Mask& mask,
    std::type_identity_t<T> scale, const Positions& positions,
    const std::type_identity_t<ContextOptions<T>>& options) {
  const Shape& q = queries.shape();
  const Shape& k = keys.shape();
  const Shape& v = values.shape();
  const int64_t heads = options.heads_side_by_side;
  const int rank = heads > 0 ? 3 : 4;
  REGARD_CHECK(q.rank() == rank && k.rank() == rank && v.rank() == rank &&
               q[0] == k[0] && q[0] == v[0])
      << "queries " << q << ", keys " << k << ", values " << v;
  const HeadRows of_queries = HeadRows::Of(q, heads);
  // Side by side, keys have as many heads as there are widths of a query.
  const int64_t key_heads =
      heads > 0 ? k[2] / std::max<int64_t>(of_queries.width, 1) : 0;
  const HeadRows of_keys = HeadRows::Of(k, key_heads);
  const HeadRows of_values = HeadRows::Of(v, key_heads);
  REGARD_CHECK(of_keys.heads > 0 && of_queries.heads % of_keys.heads == 0 &&
               of_keys.width == of_queries.width &&
               of_keys.heads == of_values.heads &&
               of_keys.rows == of_values.rows &&
               (heads == 0 || (q[2] % heads == 0 && v[2] % key_heads == 0)))
      << "queries " << q << ", keys " << k << ", values " << v << ", " << heads
      << " heads side by side";
  Tape<T>* const tape = &queries.tape();
  const int64_t num_queries = of_queries.rows;
  options.bias.CheckCovers(positions,
                           {q[0], of_queries.heads, num_queries, of_keys.rows});
  const HeadRows of_context = {of_queries.heads, num_queries, of_values.width,
                               heads > 0};
  const Problem<T> p = {
      queries,
      keys,
      values,
      of_queries,
      of_keys,
      of_values,
      of_context,
      MaskReader(mask, positions, q[0], num_queries, of_keys.rows),
      scale,
      positions,
      options.bias,
      DropoutMask(*tape, options.dropout, "weights")};
  const Var<T> context = tape->New(
      q.With(-1, heads > 0 ? heads * of_values.width : of_values.width),
      queries.needs_grad() || keys.needs_grad() || values.needs_grad() ||
          options.bias.needs_grad());
  const int64_t rows = q[0] * of_queries.heads * num_queries;
  const RowSums<T> sums = {tape->arena().template New<T>(rows),
                           tape->arena().template New<T>(rows)};
  const auto rows_from = [=](int64_t row) -> RowSums<T> {
    return {sums.max + row, sums.sum + row};
  };
  {
    ScratchScope<T> scratch(*tape);
    T* const scores = scratch.New(p.block_size());
    T* const decay = scratch.New(kQueryBlock);
    auto* const keep = p.NewKeep();
    const KeyRows<T> key_rows(keys, of_keys, scratch);
    KeyRows<T> value_rows(values, of_values, scratch);
    ForEachQueryBlock(p, [&](const QueryBlock& block) {
      AttendBlock(p, block, rows_from(block.row), key_rows, value_rows, scores,
                  decay, keep, Contexts(p, block, context.data()));
    });
  }
  tape->Record("ScaledDotAttention", context, [=] {
    const Gradients<T> gradients = {PartialGrad(p.queries), PartialGrad(p.keys),
                                    PartialGrad(p.values),
                                    PartialGrad(p.bias.values)};
    ScratchScope<T> scratch(*tape);
    const BackwardScratch<T> blocks = {scratch.New(p.block_size()),
                                       scratch.New(p.block_size()),
                                       scratch.New(kQueryBlock), p.NewKeep()};
    KeyRows<T> key_rows(p.keys, p.of_keys, scratch);
    KeyRows<T> value_rows(p.values, p.of_values, scratch);
    const T* const value = context.data();
    ForEachQueryBlock(p, [&](const QueryBlock& block) {
      BackwardBlock(p, block, rows_from(block.row), Contexts(p, block, value),
                    Contexts(p, block, context.grad_data()), key_rows,
                    value_rows, blocks, gradients);
    });
  });
  return context;
}

REGARD_INSTANTIATE_FUNCTION(ScaledDotAttention);

}  // namespace regard
