// Building blocks that the forward and the backward pass of scaled-dot
// attention share: blocks of queries, with their keys, values and scores.
#ifndef ATTENTION_KERNELS_ATTENTION_BLOCKS_H_
#define ATTENTION_KERNELS_ATTENTION_BLOCKS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/types/span.h"
#include "attention/kernels/difference_bias.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/finite_values.h"
#include "attention/key_ranges.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// The numbers of queries and keys in a block. A block of scores and a block of
// their gradients fit into a core's own cache.
inline constexpr int64_t kQueryBlock = 128;
inline constexpr int64_t kKeyBlock = 256;
// Number of keys in a piece. With a selection, a query reads whole pieces of a
// block of keys. A piece is a whole number of packets of kLanes keys. Skipped
// pieces therefore do not change any bit of a sum over keys.
inline constexpr int64_t kKeyPiece = 64;
static_assert(kKeyBlock % kKeyPiece == 0 && kKeyPiece % kLanes == 0);

template <typename T>
inline constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

// Layout of an array: [batch, heads, rows, width], or with heads side by side,
// [batch, rows, heads * width].
struct RowLayout {
  int64_t heads;
  int64_t rows;
  int64_t width;
  bool side_by_side;

  // x has rank 4 if `heads` is 0. Otherwise, x has rank 3, with `heads` heads
  // side by side.
  static RowLayout Of(const Shape& x, int64_t heads) {
    if (heads == 0) return {x[1], x[2], x[3], false};
    return {heads, x[1], x[2] / heads, true};
  }

  int64_t stride() const { return side_by_side ? heads * width : width; }
  int64_t Offset(int64_t example, int64_t head, int64_t row) const {
    return side_by_side ? ((example * rows + row) * heads + head) * width
                        : ((example * heads + head) * rows + row) * width;
  }
  // The rows first .. first + count - 1.
  template <typename T>
  ConstMatrix<T> At(const T* data, int64_t example, int64_t head, int64_t first,
                    int64_t count) const {
    return {data + Offset(example, head, first), count, width, stride()};
  }
  template <typename T>
  MutableMatrix<T> At(T* data, int64_t example, int64_t head, int64_t first,
                      int64_t count) const {
    return {data + Offset(example, head, first), count, width, stride()};
  }
};

template <typename T>
struct AttentionProblem {
  Var<T> queries, keys, values;
  RowLayout of_queries, of_keys, of_values, of_context;
  MaskReader visible;
  T scale;
  ProductPrecision precision;
  Positions positions;
  DistanceBias<T> bias;
  DifferenceBias<T> difference;
  DropoutMask dropout;
  Var<T> sink;  // [heads]; may be empty
  KeyRanges selected;

  int64_t heads() const { return of_queries.heads; }
  int64_t sources() const { return queries.dim(0) * heads(); }
  int64_t num_queries() const { return of_queries.rows; }
  int64_t num_keys() const { return of_keys.rows; }
  int64_t block_size() const {
    return std::min(kQueryBlock, num_queries()) *
           std::min(kKeyBlock, num_keys());
  }
  // Allocates scratch for the dropout mask of a block.
  uint8_t* AllocateDropoutMask() const {
    return queries.tape().scratch().template New<uint8_t>(
        dropout.drops() ? block_size() : 0);
  }
};

// A block of queries in one head of one example.
struct QueryBlock {
  int64_t example = 0;
  int64_t head = 0;
  int64_t begin = 0;  // first query
  int64_t count = 0;
  int64_t row = 0;  // index of the first query among the queries of all heads
  // If this is a part of a block, the indices of its `count` queries, relative
  // to `begin`. Null if this is a whole block.
  const int32_t* rows = nullptr;
  // The queries of the block only see keys in begin_key .. end_key - 1.
  int64_t begin_key = 0;
  int64_t end_key = 0;
  // Whether a key that the block reads is masked for one of its queries.
  bool hides = false;

  // The first key of the first key block. Key blocks begin at multiples of
  // their size. The result for a query therefore does not depend on the other
  // queries in its block.
  int64_t first_block() const { return begin_key / kKeyBlock * kKeyBlock; }
  int64_t query(int64_t i) const {
    return begin + (rows == nullptr ? i : rows[i]);
  }
};

// The block of queries that begins at query `begin`, for any head of an
// example.
template <typename T>
QueryBlock BlockAt(const AttentionProblem<T>& p, int64_t example,
                   int64_t begin) {
  QueryBlock block = {.example = example,
                      .begin = begin,
                      .count = std::min(kQueryBlock, p.num_queries() - begin),
                      .begin_key = p.num_keys()};
  const int64_t rows = p.visible.IsSameForAllQueries() ? 1 : block.count;
  block.hides = p.selected.has_value();
  for (int64_t i = 0; i < rows; ++i) {
    const VisibleKeys visible = p.visible(example, begin + i);
    if (visible.size() == 0) continue;
    block.begin_key = std::min(block.begin_key, visible.begin);
    block.end_key = std::max(block.end_key, visible.end);
    block.hides |= visible.dense != nullptr || visible.excludes_one();
  }
  for (int64_t i = 0; i < rows && !block.hides; ++i) {
    const VisibleKeys visible = p.visible(example, begin + i);
    block.hides =
        visible.begin != block.first_block() || visible.end != block.end_key;
  }
  return block;
}

// Calls f(block) for each query block of the sources begin .. end - 1. A source
// is a head of an example, with the index example * heads + head.
template <typename T, typename F>
void ForEachQueryBlock(const AttentionProblem<T>& p, int64_t begin, int64_t end,
                       F f) {
  const int64_t queries = p.num_queries();
  QueryBlock block;
  for (int64_t source = begin; source < end; ++source) {
    const int64_t head = source % p.heads();
    for (int64_t q = 0; q < queries; q += kQueryBlock) {
      // If all queries fit into one block, all heads of an example have the
      // same block.
      if (source == begin || head == 0 || queries > kQueryBlock) {
        block = BlockAt(p, source / p.heads(), q);
      }
      block.head = head;
      block.row = source * queries + q;
      f(block);
    }
  }
}

template <typename T>
ConstMatrix<T> Queries(const AttentionProblem<T>& p, const QueryBlock& block) {
  const T* const data = p.queries.data();
  return p.of_queries.At(data, block.example, block.head, block.begin,
                         block.count);
}

// Returns the range of pieces of the key block at `first` that overlap
// `ranges`. The range is encoded as 1 + first piece * pieces per block + last
// piece. Returns 0 if no piece overlaps them.
inline uint8_t OverlappedPieces(absl::Span<const KeyRange> ranges,
                                int64_t first) {
  constexpr int64_t kPieces = kKeyBlock / kKeyPiece;
  int64_t begin = kPieces;
  int64_t last = 0;
  for (const KeyRange& range : ranges) {
    if (range.end <= first) continue;
    if (range.begin >= first + kKeyBlock) break;
    const int64_t from = std::max<int64_t>(range.begin - first, 0);
    const int64_t to = std::min<int64_t>(range.end - first, kKeyBlock);
    begin = std::min(begin, from / kKeyPiece);
    last = (to - 1) / kKeyPiece;
  }
  return static_cast<uint8_t>(begin == kPieces ? 0
                                               : 1 + begin * kPieces + last);
}

// Calls f(part, first key, number of keys) for the keys that the queries of a
// block read. The keys of a call belong to one key block. Calls are in
// ascending order of key blocks. With a selection, each part contains the
// queries that read the same pieces of a key block. Without a selection, the
// part is the whole block. `rows` is scratch memory for kQueryBlock indices.
template <typename T, typename F>
void ForEachPart(const AttentionProblem<T>& p, const QueryBlock& block,
                 int32_t* rows, F f) {
  constexpr int64_t kPieces = kKeyBlock / kKeyPiece;
  static_assert(kPieces * kPieces < 32, "kinds of pieces are bits");
  for (int64_t k = block.first_block(); k < block.end_key; k += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, block.end_key - k);
    if (!p.selected.has_value()) {
      f(block, k, count);
      continue;
    }
    uint8_t pieces[kQueryBlock];
    uint32_t found = 0;  // a bit for each set of pieces
    for (int64_t i = 0; i < block.count; ++i) {
      pieces[i] = OverlappedPieces(
          p.selected(block.example, block.head, block.begin + i), k);
      found |= uint32_t{1} << pieces[i];
    }
    for (uint8_t kind = 1; kind <= kPieces * kPieces; ++kind) {
      const int64_t begin = (kind - 1) / kPieces * kKeyPiece;
      const int64_t end =
          std::min(count, ((kind - 1) % kPieces + 1) * kKeyPiece);
      if ((found >> kind & 1) == 0 || begin >= end) continue;
      QueryBlock part = block;
      part.count = 0;
      for (int64_t i = 0; i < block.count; ++i) {
        if (pieces[i] == kind) rows[part.count++] = static_cast<int32_t>(i);
      }
      if (part.count < block.count) part.rows = rows;
      f(part, k + begin, end - begin);
    }
  }
}

// Copies the rows of the part's queries from `block` to `to` [part.count,
// cols].
template <typename T, typename Matrix>
void GatherRows(const QueryBlock& part, const Matrix& block, T* to) {
  for (int64_t i = 0; i < part.count; ++i) {
    std::copy_n(block.data + part.rows[i] * block.stride, block.cols,
                to + i * block.cols);
  }
}

// The inverse of GatherRows(): copies `from` [part.count, cols] to the rows of
// the part's queries in `block`.
template <typename T>
void ScatterRows(const QueryBlock& part, const T* from,
                 const MutableMatrix<T>& block) {
  for (int64_t i = 0; i < part.count; ++i) {
    std::copy_n(from + i * block.cols, block.cols,
                block.data + part.rows[i] * block.stride);
  }
}

// The rows of a block's queries in an array with the shape of the context.
template <typename T, typename X>
auto Contexts(const AttentionProblem<T>& p, const QueryBlock& block, X* data) {
  return p.of_context.At(data, block.example, block.head, block.begin,
                         block.count);
}

// Rows of keys or values that a block of queries reads. If some rows are
// masked, FiniteRowsIfMasked() returns rows with 0 in place of NaN and
// infinities. There may be fewer key heads or value heads than query heads.
// Successive query heads then share a key head or a value head.
template <typename T>
class KeyOrValueRows {
 public:
  // `x` contains the keys or values of `p`, with the layout `rows`.
  KeyOrValueRows(const AttentionProblem<T>& p, Var<T> x, const RowLayout& rows,
                 ScratchScope<T>& scratch)
      : x_(x),
        rows_(rows),
        group_(p.heads() / rows.heads),
        copy_(scratch.New(kKeyBlock * rows.width)),
        reads_once_(p.selected.has_value() && p.num_queries() == 1) {}

  ConstMatrix<T> operator()(const QueryBlock& block, int64_t first,
                            int64_t count) const {
    const T* const data = x_.data();
    return At(data, block, first, count);
  }

  // Returns the rows of `data`, which has the shape of x.
  template <typename X>
  auto At(X* data, const QueryBlock& block, int64_t first,
          int64_t count) const {
    return rows_.At(data, block.example, block.head / group_, first, count);
  }

  ConstMatrix<T> FiniteRowsIfMasked(const QueryBlock& block, int64_t first,
                                    int64_t count) {
    const ConstMatrix<T> rows = (*this)(block, first, count);
    if (!block.hides) return rows;
    if (reads_once_) {
      if (rows.stride == rows.cols && AllFinite(rows.data, count * rows.cols)) {
        return rows;
      }
    } else {
      if (!finite_.has_value()) finite_ = AllFinite(x_.data(), x_.size());
      if (*finite_) return rows;
    }
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
  RowLayout rows_;
  int64_t group_;
  T* const copy_;  // [kKeyBlock, width]
  // Whether there is only one query, and it reads only selected rows. Checking
  // these rows for NaN and infinities is then faster than checking all of x.
  const bool reads_once_;
  std::optional<bool> finite_;  // whether all of x is finite
};

// The index of the bias for query i of a block and key first_key. The biases
// for the next keys follow.
template <typename T>
int64_t BiasIndex(const AttentionProblem<T>& p, const QueryBlock& block,
                  int64_t i, int64_t first_key) {
  return p.bias.IndexOf(block.head, p.positions.Offset(block.query(i))) +
         first_key;
}

// Sets the scores of keys that are not selected to -inf. `scores` are the
// scores of one query for the keys first_key .. first_key + count - 1.
template <typename T>
void MaskUnselected(absl::Span<const KeyRange> ranges, int64_t first_key,
                    int64_t count, T* scores) {
  int64_t done = 0;
  for (const KeyRange& range : ranges) {
    const int64_t begin =
        std::clamp<int64_t>(range.begin - first_key, done, count);
    std::fill(scores + done, scores + begin, kMinusInfinity<T>);
    done = std::clamp<int64_t>(range.end - first_key, done, count);
    if (done == count) return;
  }
  std::fill(scores + done, scores + count, kMinusInfinity<T>);
}

// The index of row `row` of the block's head in an array [batch, heads, rows,
// 1], such as DifferenceBias::queries or DifferenceBias::keys.
template <typename T>
int64_t FlatRowIndex(const AttentionProblem<T>& p, const QueryBlock& block,
                     int64_t rows, int64_t row) {
  return (block.example * p.heads() + block.head) * rows + row;
}

// Multiplies n numbers by `factor`.
template <typename T>
void Scale(T factor, int64_t n, T* __restrict x) {
  if (factor == T(1)) return;
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

// Writes scores [queries, keys] of the block's `queries`: scaled inner products
// plus the biases, or -inf for masked keys.
template <typename T>
void ScoreBlock(const AttentionProblem<T>& p, const QueryBlock& block,
                const ConstMatrix<T>& queries, const ConstMatrix<T>& keys,
                int64_t first_key, T* scores) {
  const int64_t count = keys.rows;
  const MutableMatrix<T> products(scores, block.count, count);
  if (Rounds<T>(p.precision)) {
    Gemm(queries, keys.Transposed(), products, GemmMode::kAssign, T(1),
         p.precision);
    Scale(p.scale, block.count * count, scores);
  } else {
    Gemm(queries, keys.Transposed(), products, GemmMode::kAssign, p.scale);
  }
  const DifferenceBias<T>& difference = p.difference;
  if (!block.hides && !p.bias.has_value() && !difference.has_value()) return;
  for (int64_t i = 0; i < block.count; ++i) {
    T* __restrict row = scores + i * count;
    if (p.bias.has_value()) {
      const T* bias = p.bias.values.data() + BiasIndex(p, block, i, first_key);
      for (int64_t k = 0; k < count; ++k) row[k] += bias[k];
    }
    if (difference.has_value()) {
      const T of_query =
          difference.queries
              .data()[FlatRowIndex(p, block, p.num_queries(), block.query(i))];
      const T* of_keys = difference.keys.data() +
                         FlatRowIndex(p, block, p.num_keys(), first_key);
      for (int64_t k = 0; k < count; ++k) row[k] += of_query - of_keys[k];
    }
    const VisibleKeys visible = p.visible(block.example, block.query(i));
    const int64_t begin =
        std::clamp<int64_t>(visible.begin - first_key, 0, count);
    const int64_t end = std::clamp<int64_t>(visible.end - first_key, 0, count);
    std::fill(row, row + begin, kMinusInfinity<T>);
    if (visible.dense != nullptr) {
      for (int64_t k = begin; k < end; ++k) {
        if (!visible(first_key + k)) row[k] = kMinusInfinity<T>;
      }
    }
    if (first_key + begin <= visible.excluded &&
        visible.excluded < first_key + end) {
      row[visible.excluded - first_key] = kMinusInfinity<T>;
    }
    std::fill(row + end, row + count, kMinusInfinity<T>);
    if (!p.selected.has_value()) continue;
    MaskUnselected(p.selected(block.example, block.head, block.query(i)),
                   first_key, count, row);
  }
}

// Arrays to which the gradients of the operands are added. An array is null if
// its gradient is not needed.
template <typename T>
struct Gradients {
  T* queries;
  T* keys;
  T* values;
  T* bias;
  T* difference_queries;
  T* difference_keys;
  T* sink;

  bool NeedsScoreGradients() const {
    return queries != nullptr || keys != nullptr || bias != nullptr ||
           difference_queries != nullptr || difference_keys != nullptr ||
           sink != nullptr;
  }
};

// Adds the gradients of a block of scores to the gradients of the biases.
template <typename T>
void AddBiasGradients(const AttentionProblem<T>& p, const QueryBlock& block,
                      const ConstMatrix<T>& d_scores, int64_t first_key,
                      const Gradients<T>& d) {
  const int64_t count = d_scores.cols;
  for (int64_t i = 0; i < block.count; ++i) {
    const T* __restrict d_score = d_scores.data + i * count;
    if (d.bias != nullptr) {
      T* __restrict d_bias = d.bias + BiasIndex(p, block, i, first_key);
      for (int64_t j = 0; j < count; ++j) d_bias[j] += d_score[j];
    }
    if (d.difference_queries != nullptr) {
      d.difference_queries[FlatRowIndex(
          p, block, p.num_queries(), block.query(i))] += SumRow(d_score, count);
    }
    if (d.difference_keys != nullptr) {
      T* __restrict d_keys =
          d.difference_keys + FlatRowIndex(p, block, p.num_keys(), first_key);
      for (int64_t j = 0; j < count; ++j) d_keys[j] -= d_score[j];
    }
  }
}

// Writes to `keep` [queries, keys] whether dropout keeps the weights of the
// keys first_key .. first_key + count - 1. Entries outside of a query's range
// of visible keys are 0.
template <typename T>
void FillDropoutMask(const AttentionProblem<T>& p, const QueryBlock& block,
                     int64_t first_key, int64_t count, uint8_t* keep) {
  std::fill_n(keep, block.count * count, uint8_t{0});
  for (int64_t i = 0; i < block.count; ++i) {
    const VisibleKeys visible = p.visible(block.example, block.query(i));
    const int64_t begin =
        std::clamp<int64_t>(visible.begin - first_key, 0, count);
    const int64_t end = std::clamp<int64_t>(visible.end - first_key, 0, count);
    p.dropout.FillRow(block.example, block.head, block.query(i),
                      first_key + begin, end - begin, keep + i * count + begin);
  }
}

// Writes to `dropped` the kept weights, divided by the probability of keeping,
// and 0 for the other weights. `dropped` may be `weights`.
template <typename T>
void ApplyDropout(const AttentionProblem<T>& p, const uint8_t* keep, int64_t n,
                  const T* weights, T* dropped) {
  const auto scale = static_cast<T>(p.dropout.scale());
  for (int64_t i = 0; i < n; ++i) {
    dropped[i] = keep[i] != 0 ? weights[i] * scale : T(0);
  }
}

}  // namespace regard

#endif  // ATTENTION_KERNELS_ATTENTION_BLOCKS_H_
