// Matrix products. All matrix products of the project go through these
// functions.
//
// Every element is computed by the same chain of multiply-adds for any shape. A
// row of the result is therefore bit-identical for any number of rows. The
// current InferenceThreads share the columns of a large product. Each thread
// keeps its packing buffers: after the first products, a product makes no heap
// allocation.
#ifndef AUTODIFF_KERNELS_GEMM_H_
#define AUTODIFF_KERNELS_GEMM_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/product_precision.h"

namespace regard {

// The inner dimension of a product is cut into pieces of this length. The sum
// over each piece is a chain of multiply-adds, which is then added to the
// result. A product may therefore be replaced by several products, one for each
// piece, that add to one result. The result is bit-identical. Rounded products
// have pieces of 32 (product_precision.h), so the same cuts are possible.
inline constexpr int64_t kGemmDepth = 256;

// A transposed right operand without a packed copy is read in place, instead of
// packed, if the left operand has at most this many rows and is not transposed.
inline constexpr int64_t kGemmFewRows = 16;

enum class GemmMode {
  kAssign,  // c = alpha a b
  kAdd,     // c = c + alpha a b
};

// Multiplies a [m, k] and b [k, n] into c [m, n]. c must not overlap a or b.
// With ProductPrecision::kBfloat16 and T = float, alpha must be 1.
template <typename T>
void Gemm(ConstMatrix<T> a, ConstMatrix<T> b, MutableMatrix<T> c,
          GemmMode mode = GemmMode::kAssign, T alpha = T(1),
          ProductPrecision precision = ProductPrecision::kFull);

// Computes c [m, n] = addend [m, n] + a b. The addend must not be transposed. A
// bias is passed as ConstMatrix::Repeated().
template <typename T>
void GemmPlus(ConstMatrix<T> a, ConstMatrix<T> b, ConstMatrix<T> addend,
              MutableMatrix<T> c,
              ProductPrecision precision = ProductPrecision::kFull);

// Returns the number of elements that WithPackedPanels() stores for a matrix
// [rows, cols].
template <typename T>
int64_t PackedSize(int64_t rows, int64_t cols);

// Copies `b` to `panels`, in the layout in which products read their right
// operand. Returns `b` with a pointer to this copy. Products with the result
// are bit-identical to products with `b`, but do not have to pack `b`. If the
// left operand has few rows, packing takes as long as the product itself.
template <typename T>
ConstMatrix<T> WithPackedPanels(ConstMatrix<T> b, T* panels);

// Whether `b.panels` contains bit-identical copies of the elements of `b`.
// `b.panels` must not be null.
template <typename T>
bool PanelsMatch(const ConstMatrix<T>& b);

// Returns the number of words that RoundedPairs() stores for a matrix [rows,
// cols]. For large matrices, this is half of the memory of the float matrix.
int64_t RoundedPairsSize(int64_t rows, int64_t cols);

// Returns `b` with a rounded copy in `pairs`. Products with
// ProductPrecision::kBfloat16 then read this copy instead of `b`. Their results
// are bit-identical. `pairs` should be aligned to 64 bytes. T must be float.
// For double, the function compiles in templates but fails a check.
template <typename T>
ConstMatrix<T> RoundedPairs(ConstMatrix<T> b, uint32_t* pairs);

// Whether `b.pairs`, which must not be null, is bit-identical to the rounded
// `b`. T must be float.
template <typename T>
bool PairsMatch(const ConstMatrix<T>& b);

// Returns the name of the fastest implementation of products with
// ProductPrecision::kBfloat16 in this process: "AMX", "AVX-512", "AVX2" or
// "plain". All have the same results. REGARD_AMX=0 in the environment disables
// AMX.
const char* Bfloat16Kernel();

// Returns the total number of floating-point operations of this thread's matrix
// products. A product of [m, k] and [k, n] counts as 2 * m * n * k.
int64_t GemmFlops();

// Returns how many of GemmFlops() are in products with
// ProductPrecision::kBfloat16.
int64_t RoundedGemmFlops();

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_H_
