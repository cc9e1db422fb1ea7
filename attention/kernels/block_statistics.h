// Row statistics of softmax weights (nn/row_statistics.h), computed block by
// block, with a running maximum and sum.
//
// With the running maximum m of a row, the sums over the keys so far are
//
//   S = sum_k exp(s_k - m)    and    U = sum_k exp(s_k - m) (s_k - m)
//
// and the entropy is log S - U / S. If a block raises m to m', then S and U
// become exp(m - m') S and exp(m - m') (U + (m - m') S).
//
// A sink may raise m far above all scores, which would lose precision. U
// therefore uses s_k - r in place of s_k - m, where r is the largest score of a
// key. The entropy is then log S - (r - m) - U / S. Without a sink, r is m.
#ifndef ATTENTION_KERNELS_BLOCK_STATISTICS_H_
#define ATTENTION_KERNELS_BLOCK_STATISTICS_H_

#include <cstdint>

#include "attention/kernels/attention_blocks.h"
#include "autodiff/arena.h"
#include "nn/row_statistics.h"

namespace regard {

// Intermediate values of the softmax of a block of scores.
template <typename T>
struct BlockSoftmaxIntermediates {
  const T* exponents;  // [queries, keys], s_k - m
  const T* weights;    // their exponentials
  // Arrays with one element per query:
  const T* sums;   // the sum of the query's weights
  const T* max;    // m
  const T* decay;  // exp(old m - m), if the query saw an earlier key
};

// Used by one thread, for one block of queries at a time. Trivially
// destructible.
template <typename T>
class BlockStatistics {
 public:
  // If `to` has no arrays, wanted() is false, and the other functions must not
  // be called.
  BlockStatistics(const AttentionStatistics& to, Arena& scratch);

  bool wanted() const { return to_.has_value(); }

  // Begins a block of queries that have not seen a key yet.
  void Begin(const QueryBlock& block);
  // Reads the rows begin .. end - 1 of exponents and weights [queries, count].
  // Call it for the rows of a block before Add() adds the same `count` keys.
  void MeasureRows(int64_t begin, int64_t end, bool sink, int64_t count,
                   const T* exponents, const T* weights);
  // Adds the keys first_key .. first_key + count - 1, for the block or a part
  // of it.
  void Add(const AttentionProblem<T>& p, const QueryBlock& block,
           int64_t first_key, int64_t count,
           const BlockSoftmaxIntermediates<T>& of);
  // Writes the statistics of the block. `sum` has the sum of each row's
  // softmax, which is NaN if a score of the row is NaN.
  void End(const AttentionProblem<T>& p, const QueryBlock& block, const T* max,
           const T* sum);

 private:
  AttentionStatistics to_;
  // Arrays with one element per row that MeasureRows() has read:
  T* largest_;       // exponent of the largest score
  T* part_moments_;  // sums of weight * (exponent - largest)
  // Arrays with one element per row of the block, except `windows_`:
  double* sum_;     // S
  double* moment_;  // U
  double* best_;    // r, the largest score of a key
  int32_t* top_key_;
  double* first_;    // the score of key row 0
  double* windows_;  // [widths, rows], sums of exp(s_k - m)
  double* total_;    // S with the sink
  double* exponents_;
  double* logarithms_;
};

}  // namespace regard

#endif  // ATTENTION_KERNELS_BLOCK_STATISTICS_H_
