// The interface of an implementation of products with
// ProductPrecision::kBfloat16. All implementations are bit-identical.
//
// Internal to the kernels: other code calls Gemm().
#ifndef AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_
#define AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"

namespace regard {

// The maximum number of inner indices of one block. A panel and a few rows of
// the left operand then fit into the first-level cache.
inline constexpr int64_t kBfloat16Depth = 256;

// The distance between rows of a rounded left operand, in words, for rows of
// floats and for rows of pairs. Without the additional cache line, many rows
// would map to the same cache sets.
inline constexpr int64_t kFloatRowWords = kBfloat16Depth + 16;
inline constexpr int64_t kPairRowWords = kBfloat16Depth / 2 + 16;

// The product of a few rows with one panel, for a range of inner indices.
struct Bfloat16BlockProduct {
  const uint32_t* a;  // the left operand, as stored by `round_rows`
  int64_t rows;
  const uint32_t* b;  // the rows of a panel (bfloat16.h) for these indices
  int64_t cols;       // 1 .. kPairPanel
  int64_t depth;      // at least 1
  // The result is c = addend + a b. If nothing is added, `addend` is a row of
  // zeros with stride 0. The addend may be c itself.
  float* c;
  int64_t c_stride;
  const float* addend;
  int64_t addend_stride;
};

// An implementation of the products. It receives ranges of inner indices that
// begin at a multiple of kBfloat16Piece and have at most kBfloat16Depth
// indices.
struct Bfloat16Backend {
  const char* name;
  int64_t rows;       // maximum number of rows of a block
  int64_t row_words;  // kFloatRowWords or kPairRowWords
  // Rounds elements [row .. row + rows - 1, first .. first + depth - 1] of the
  // left operand. Stores floats or pairs. Rows are `row_words` apart.
  void (*round_rows)(const ConstMatrix<float>& a, int64_t row, int64_t rows,
                     int64_t first, int64_t depth, uint32_t* rounded);
  // Rounds the panel of the right operand that begins at column `col`.
  void (*round_panel)(const ConstMatrix<float>& b, int64_t first, int64_t depth,
                      int64_t col, uint32_t* pairs);
  // The calling thread must treat denormal numbers as zeros.
  void (*multiply)(const Bfloat16BlockProduct& block);
  // Each thread calls these before and after its calls of `multiply`. May be
  // null.
  void (*begin)();
  void (*end)();
};

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_BACKEND_H_
