// Where the rows of heads lie in an array.
#ifndef ATTENTION_KERNELS_HEAD_ROWS_H_
#define ATTENTION_KERNELS_HEAD_ROWS_H_

#include <cstdint>

#include "autodiff/kernels/matrix.h"
#include "autodiff/shape.h"

namespace regard {

// An array is [batch, heads, rows, width], or has heads side by side in
// [batch, rows, heads * width].
struct HeadRows {
  int64_t heads;
  int64_t rows;
  int64_t width;
  bool side_by_side;

  // heads 0: as the rank-4 shape says; else those of a rank-3 one.
  static HeadRows Of(const Shape& x, int64_t heads) {
    if (heads == 0) return {x[1], x[2], x[3], false};
    return {heads, x[1], x[2] / heads, true};
  }

  int64_t stride() const { return side_by_side ? heads * width : width; }
  int64_t Offset(int64_t example, int64_t head, int64_t row) const {
    return side_by_side ? ((example * rows + row) * heads + head) * width
                        : ((example * heads + head) * rows + row) * width;
  }
  // Rows first .. first + count - 1.
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

}  // namespace regard

#endif  // ATTENTION_KERNELS_HEAD_ROWS_H_
