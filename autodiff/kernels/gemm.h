// Matrix products. All code uses these functions for products.
//
// Every element is made by the same chain of multiply-adds whatever the shape,
// so the bits of a row of the result do not depend on the number of rows. A
// large product is cut over columns of the result among the thread's
// InferenceThreads. Packing buffers are kept for each thread: a warm product
// makes no heap allocation.
#ifndef AUTODIFF_KERNELS_GEMM_H_
#define AUTODIFF_KERNELS_GEMM_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"

namespace regard {

// The inner extent of a product is cut into pieces of this length, each a chain
// of multiply-adds that is added to the result. So products over consecutive
// pieces that add to one result give the bits of one product over all of them.
inline constexpr int64_t kGemmDepth = 256;

// A transposed right operand is read in place, and not packed, if the left one
// has no more rows than this.
inline constexpr int64_t kGemmFewRows = 16;

enum class GemmMode {
  kAssign,  // c = alpha a b
  kAdd,     // c = c + alpha a b
};

// c [m, n] from a [m, k] and b [k, n]; c overlaps neither.
template <typename T>
void Gemm(ConstMatrix<T> a, ConstMatrix<T> b, MutableMatrix<T> c,
          GemmMode mode = GemmMode::kAssign, T alpha = T(1));

// c [m, n] = addend [m, n] + a b. The addend is not transposed; a bias is one
// that is Repeated().
template <typename T>
void GemmPlus(ConstMatrix<T> a, ConstMatrix<T> b, ConstMatrix<T> addend,
              MutableMatrix<T> c);

// Elements of storage that Packed() takes for a matrix [rows, cols].
template <typename T>
int64_t PackedSize(int64_t rows, int64_t cols);

// `b` with a copy of it in `panels`, in the layout in which products read their
// right operand. As a right operand it gives the same bits as `b`, and saves
// the time to pack `b` in each product, which is as long as the product itself
// if `a` has few rows.
template <typename T>
ConstMatrix<T> Packed(ConstMatrix<T> b, T* panels);

// Whether `b.panels`, which is not null, is still a copy of `b`, bit for bit.
template <typename T>
bool PanelsMatch(const ConstMatrix<T>& b);

// Floating-point operations (2 m n k each) of this thread's products so far.
int64_t GemmFlops();

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_H_
