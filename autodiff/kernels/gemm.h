// The one door for matrix products.
//
// Every product takes the same blocked path whatever its shape, so a row of the
// result has the same bits however many rows surround it. Packing buffers are
// per-thread scratch that is kept: a warm product allocates nothing.
#ifndef AUTODIFF_KERNELS_GEMM_H_
#define AUTODIFF_KERNELS_GEMM_H_

#include <cstdint>

namespace regard {

// A row-major matrix to read: element (i, j) is data[i * stride + j], or
// data[j * stride + i] where `transposed`.
template <typename T>
struct ConstMatrix {
  const T* data;
  int64_t rows;
  int64_t cols;
  int64_t stride;
  bool transposed = false;

  ConstMatrix(const T* data, int64_t rows, int64_t cols)
      : ConstMatrix(data, rows, cols, cols) {}
  ConstMatrix(const T* data, int64_t rows, int64_t cols, int64_t stride,
              bool transposed = false)
      : data(data),
        rows(rows),
        cols(cols),
        stride(stride),
        transposed(transposed) {}

  // The transpose, read in place.
  ConstMatrix Transposed() const {
    return ConstMatrix(data, cols, rows, stride, !transposed);
  }
};

// A row-major matrix to write.
template <typename T>
struct MutableMatrix {
  T* data;
  int64_t rows;
  int64_t cols;
  int64_t stride;

  MutableMatrix(T* data, int64_t rows, int64_t cols)
      : MutableMatrix(data, rows, cols, cols) {}
  MutableMatrix(T* data, int64_t rows, int64_t cols, int64_t stride)
      : data(data), rows(rows), cols(cols), stride(stride) {}
};

enum class GemmMode {
  kAssign,  // c = alpha a b
  kAdd,     // c = c + alpha a b
};

// c [m, n] from a [m, k] and b [k, n]; c overlaps neither.
template <typename T>
void Gemm(ConstMatrix<T> a, ConstMatrix<T> b, MutableMatrix<T> c,
          GemmMode mode = GemmMode::kAssign, T alpha = T(1));

// Floating-point operations (2 m n k each) of this thread's products so far.
int64_t GemmFlops();

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_H_
