#include "attention/kernels/scaled_dot_attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "attention/kernels/finite_values.h"
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
  MaskReader visible;
  T scale;
  Positions positions;
  DistanceBias<T> bias;
  DropoutMask dropout;

  int64_t heads() const { return queries.dim(1); }
  int64_t group() const { return queries.dim(1) / keys.dim(1); }
  int64_t num_queries() const { return queries.dim(2); }
  int64_t num_keys() const { return keys.dim(2); }
  int64_t width() const { return queries.dim(3); }
  int64_t value_width() const { return values.dim(3); }
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

// Rows of queries of one head of one example. `row` and `key_row` are places
// among all queries and all keys.
struct QueryBlock {
  int64_t example;
  int64_t head;
  int64_t begin;  // first query
  int64_t count;
  int64_t row;      // of the first query
  int64_t key_row;  // of key 0
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
                          .begin = q,
                          .count = std::min(kQueryBlock, p.num_queries() - q),
                          .row = source * p.num_queries() + q,
                          .key_row = source / p.group() * p.num_keys(),
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

// Rows first .. of the keys or values [.., width] of a block, without NaN and
// infinities if some of them are hidden. `copy` is scratch of their size.
template <typename T>
const T* ReadRows(const QueryBlock& block, Var<T> x, int64_t first,
                  int64_t count, T* copy) {
  const int64_t width = x.dim(3);
  const T* const rows = x.data() + (block.key_row + first) * width;
  return block.hides ? FiniteValues(rows, count * width, copy) : rows;
}

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
void ScoreBlock(const Problem<T>& p, const QueryBlock& block, int64_t first_key,
                int64_t count, T* scores) {
  const int64_t width = p.width();
  Gemm(ConstMatrix<T>(p.queries.data() + block.row * width, block.count, width),
       ConstMatrix<T>(p.keys.data() + (block.key_row + first_key) * width,
                      count, width)
           .Transposed(),
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

// Turns a block of scores into exp(score - max) with the new maximum, and
// scales what was summed under the old one, unless this block is the `first`.
// `decay` is scratch for a row each.
template <typename T>
void Accumulate(const QueryBlock& block, bool first, int64_t count,
                int64_t value_width, T* scores, RowSums<T> rows, T* decay,
                T* context) {
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
    T* __restrict c = context + i * value_width;
    for (int64_t j = 0; j < value_width; ++j) c[j] *= decay[i];
  }
}

template <typename T>
void AttendBlock(const Problem<T>& p, const QueryBlock& block, RowSums<T> rows,
                 T* scores, T* decay, T* copy, uint8_t* keep, T* context) {
  const int64_t width = p.value_width();
  std::fill_n(rows.max, block.count, kMinusInfinity<T>);
  if (block.end_key <= block.first_block()) {
    std::fill_n(rows.sum, block.count, T(0));
    std::fill_n(context, block.count * width, T(0));
    return;
  }
  for (int64_t k = block.first_block(); k < block.end_key; k += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, block.end_key - k);
    const bool first = k == block.first_block();
    ScoreBlock(p, block, k, count, scores);
    Accumulate(block, first, count, width, scores, rows, decay, context);
    if (p.dropout.drops()) {
      FillKeep(p, block, k, count, keep);
      Drop(p, keep, block.count * count, scores, scores);
    }
    const T* const values = ReadRows(block, p.values, k, count, copy);
    Gemm(ConstMatrix<T>(scores, block.count, count),
         ConstMatrix<T>(values, count, width),
         MutableMatrix<T>(context, block.count, width),
         first ? GemmMode::kAssign : GemmMode::kAdd);
    if (values != copy) continue;
    for (int64_t i = 0; i < block.count; ++i) {
      AddNonFinite(scores + i * count,
                   p.values.data() + (block.key_row + k) * width, count, width,
                   context + i * width);
    }
  }
  for (int64_t i = 0; i < block.count; ++i) {
    const T scale = rows.sum[i] > T(0) ? T(1) / rows.sum[i] : T(0);
    T* __restrict c = context + i * width;
    for (int64_t j = 0; j < width; ++j) c[j] *= scale;
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
  T* keys;        // of a block of keys
  T* values;      // of a block of values
  uint8_t* keep;  // [queries, keys] of the block
};

template <typename T>
void BackwardBlock(const Problem<T>& p, const QueryBlock& block,
                   RowSums<T> rows, const T* context, const T* d_context,
                   const BackwardScratch<T>& s, const Gradients<T>& d) {
  const int64_t width = p.width();
  const int64_t value_width = p.value_width();
  // Of a row whose keys are all in one block, the mean comes from the weights:
  // a row that sees one key then has a gradient of exactly 0.
  const bool one_block = block.end_key - block.first_block() <= kKeyBlock;
  for (int64_t i = 0; !one_block && i < block.count; ++i) {
    s.mean[i] = DotRow(context + i * value_width, d_context + i * value_width,
                       value_width);
  }
  const ConstMatrix<T> d_out(d_context, block.count, value_width);
  for (int64_t k = block.first_block(); k < block.end_key; k += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, block.end_key - k);
    const int64_t key_row = block.key_row + k;
    ScoreBlock(p, block, k, count, s.weights);
    Normalize(block, count, rows, s.weights);
    const bool drops = p.dropout.drops();
    if (drops) FillKeep(p, block, k, count, s.keep);
    if (d.values != nullptr) {
      const T* dropped = s.weights;
      if (drops) {
        Drop(p, s.keep, block.count * count, s.weights, s.d_weights);
        dropped = s.d_weights;
      }
      Gemm(ConstMatrix<T>(dropped, block.count, count).Transposed(), d_out,
           MutableMatrix<T>(d.values + key_row * value_width, count,
                            value_width),
           GemmMode::kAdd);
    }
    if (d.queries == nullptr && d.keys == nullptr && d.bias == nullptr) {
      continue;
    }
    Gemm(d_out,
         ConstMatrix<T>(ReadRows(block, p.values, k, count, s.values), count,
                        value_width)
             .Transposed(),
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
      Gemm(d_scores,
           ConstMatrix<T>(ReadRows(block, p.keys, k, count, s.keys), count,
                          width),
           MutableMatrix<T>(d.queries + block.row * width, block.count, width),
           GemmMode::kAdd, p.scale);
    }
    if (d.keys != nullptr) {
      Gemm(d_scores.Transposed(),
           ConstMatrix<T>(p.queries.data() + block.row * width, block.count,
                          width),
           MutableMatrix<T>(d.keys + key_row * width, count, width),
           GemmMode::kAdd, p.scale);
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
  REGARD_CHECK(q.rank() == 4 && k.rank() == 4 && v.rank() == 4 &&
               q[0] == k[0] && k[1] > 0 && q[1] % k[1] == 0 && q[3] == k[3] &&
               q[0] == v[0] && k[1] == v[1] && k[2] == v[2])
      << "queries " << q << ", keys " << k << ", values " << v;
  Tape<T>* const tape = &queries.tape();
  options.bias.CheckCovers(positions, {q[0], q[1], q[2], k[2]});
  const Problem<T> p = {
      queries,      keys,
      values,       MaskReader(mask, positions, q[0], q[2], k[2]),
      scale,        positions,
      options.bias, DropoutMask(*tape, options.dropout, "weights")};
  const int64_t rows = queries.rows();
  const int64_t width = p.value_width();
  const Var<T> context =
      tape->New({q[0], q[1], q[2], v[3]},
                queries.needs_grad() || keys.needs_grad() ||
                    values.needs_grad() || options.bias.needs_grad());
  const RowSums<T> sums = {tape->arena().template New<T>(rows),
                           tape->arena().template New<T>(rows)};
  const auto rows_from = [=](int64_t row) -> RowSums<T> {
    return {sums.max + row, sums.sum + row};
  };
  {
    ScratchScope<T> scratch(*tape);
    T* const scores = scratch.New(p.block_size());
    T* const decay = scratch.New(kQueryBlock);
    T* const copy = scratch.New(kKeyBlock * width);
    auto* const keep = p.NewKeep();
    ForEachQueryBlock(p, [&](const QueryBlock& block) {
      AttendBlock(p, block, rows_from(block.row), scores, decay, copy, keep,
                  context.data() + block.row * width);
    });
  }
  tape->Record("ScaledDotAttention", context, [=] {
    const Gradients<T> gradients = {PartialGrad(p.queries), PartialGrad(p.keys),
                                    PartialGrad(p.values),
                                    PartialGrad(p.bias.values)};
    ScratchScope<T> scratch(*tape);
    const BackwardScratch<T> blocks = {
        scratch.New(p.block_size()),    scratch.New(p.block_size()),
        scratch.New(kQueryBlock),       scratch.New(kKeyBlock * p.width()),
        scratch.New(kKeyBlock * width), p.NewKeep()};
    ForEachQueryBlock(p, [&](const QueryBlock& block) {
      BackwardBlock(p, block, rows_from(block.row),
                    context.data() + block.row * width,
                    context.grad_data() + block.row * width, blocks, gradients);
    });
  });
  return context;
}

REGARD_INSTANTIATE_FUNCTION(ScaledDotAttention);

}  // namespace regard
