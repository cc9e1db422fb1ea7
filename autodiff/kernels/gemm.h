// Matrix products. All code uses these functions for products.
//
// Every product takes the same blocked path whatever its shape, so the bits of
// a row of the result do not depend on the number of rows. Packing buffers are
// kept for each thread: a warm product makes no heap allocation.
#ifndef AUTODIFF_KERNELS_GEMM_H_
#define AUTODIFF_KERNELS_GEMM_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"

namespace regard {

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

// Floating-point operations (2 m n k each) of this thread's products so far.
int64_t GemmFlops();

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_H_
