// An implementation of products with ProductPrecision::kBfloat16. All
// implementations compute the same bits.
//
// Internal to the kernels: other code calls Gemm().
#ifndef AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_
#define AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"

namespace regard {

// The number of inner indices that are rounded and multiplied at a time. A
// panel and a few rows of the left operand then fit into the first-level cache.
inline constexpr int64_t kBfloat16Depth = 256;

// The distance between rows of a rounded left operand, in words: for one float
// in a word, and for pairs. Without the additional cache line, rows would
// compete for few sets of a cache.
inline constexpr int64_t kFloatRowWords = kBfloat16Depth + 16;
inline constexpr int64_t kPairRowWords = kBfloat16Depth / 2 + 16;

// A range of inner indices of one panel of columns.
struct Bfloat16Block {
  const uint32_t* a;  // the left operand, as stored by `round_rows`
  int64_t rows;
  const uint32_t* b;  // the rows of a panel (bfloat16.h) for these indices
  int64_t cols;       // 1 .. kPairPanel
  int64_t depth;      // at least 1
  // c = addend + the product. If there is no addend, it is one row of zeros
  // with stride 0. The addend may be c itself.
  float* c;
  int64_t c_stride;
  const float* addend;
  int64_t addend_stride;
};

// Ranges of inner indices begin at a multiple of kBfloat16Piece and have at
// most kBfloat16Depth indices.
struct Bfloat16Backend {
  const char* name;
  int64_t rows;       // how many are rounded and multiplied at a time
  int64_t row_words;  // kFloatRowWords or kPairRowWords
  // Rounds elements [row .. row + rows - 1, first .. first + depth - 1] of the
  // left operand. Stores floats or pairs, in rows at a distance of `row_words`.
  void (*round_rows)(const ConstMatrix<float>& a, int64_t row, int64_t rows,
                     int64_t first, int64_t depth, uint32_t* rounded);
  // Rounds the panel of the right operand that begins at column `col`.
  void (*round_panel)(const ConstMatrix<float>& b, int64_t first, int64_t depth,
                      int64_t col, uint32_t* pairs);
  // Denormal numbers must be zero on the calling thread.
  void (*multiply)(const Bfloat16Block& block);
  // Called on each thread before and after its calls of `multiply`, or null.
  void (*begin)();
  void (*end)();
};

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_
