// Non-owning, row-major matrix views.
#ifndef AUTODIFF_KERNELS_MATRIX_H_
#define AUTODIFF_KERNELS_MATRIX_H_

#include <cstdint>

namespace regard {

// A read-only matrix. Element (i, j) is data[i * stride + j], or
// data[j * stride + i] if `transposed`.
template <typename T>
struct ConstMatrix {
  const T* data;
  int64_t rows;
  int64_t cols;
  int64_t stride;
  bool transposed = false;
  // This matrix in the layout of WithPackedPanels(), or null.
  const T* panels = nullptr;
  // The same matrix, rounded, in the layout of RoundedPairs(), or null.
  // Products with ProductPrecision::kBfloat16 read `pairs`. All other products
  // read `panels`.
  const uint32_t* pairs = nullptr;

  ConstMatrix(const T* data, int64_t rows, int64_t cols)
      : ConstMatrix(data, rows, cols, cols) {}
  ConstMatrix(const T* data, int64_t rows, int64_t cols, int64_t stride,
              bool transposed = false)
      : data(data),
        rows(rows),
        cols(cols),
        stride(stride),
        transposed(transposed) {}

  // Returns a matrix whose `rows` rows all equal `row`, an array of `cols`
  // elements.
  static ConstMatrix Repeated(const T* row, int64_t rows, int64_t cols) {
    return ConstMatrix(row, rows, cols, /*stride=*/0);
  }

  // The transpose, read in place.
  ConstMatrix Transposed() const {
    return ConstMatrix(data, cols, rows, stride, !transposed);
  }
};

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

}  // namespace regard

#endif  // AUTODIFF_KERNELS_MATRIX_H_
