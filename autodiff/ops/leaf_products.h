// Products of rows with a weight, for operations that make them. Internal to
// autodiff: others call Linear().
//
// A leaf remembers, for each part of it that takes part in products:
//
// * The layout. The second product of few rows packs the part; later products
//   read the packed copy. It is kept as long as the leaf, also if the tape is
//   rewound. A large part that needs no gradient is read in place by the first
//   products of up to kGemmFewRows rows, and packed if they become many. Bits
//   do not depend on the layout.
// * A queue of gradient products of few rows. Their rows are copied, and one
//   product is made of each kGemmDepth rows: many small products would read and
//   write the whole gradient each. The rest is added after the records of the
//   backward pass. The result has the bits of one product of all rows, in the
//   order in which the backward pass reached them.
//
// A weight that is not a leaf keeps nothing.
#ifndef AUTODIFF_OPS_LEAF_PRODUCTS_H_
#define AUTODIFF_OPS_LEAF_PRODUCTS_H_

#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/tape.h"

namespace regard {

// Rows row .. row + rows - 1 and columns col .. col + cols - 1 of a weight,
// which is a matrix.
template <typename T>
struct WeightPart {
  Var<T> weight;
  int64_t row;
  int64_t rows;
  int64_t col;
  int64_t cols;

  explicit WeightPart(Var<T> weight)
      : WeightPart(weight, 0, weight.dim(0), 0, weight.dim(1)) {}
  WeightPart(Var<T> weight, int64_t row, int64_t rows, int64_t col,
             int64_t cols)
      : weight(weight), row(row), rows(rows), col(col), cols(cols) {}

  int64_t stride() const { return weight.cols(); }
  int64_t offset() const { return row * stride() + col; }

  // The right operand of gradients of x: [rows, cols].
  ConstMatrix<T> matrix() const {
    return {weight.data() + offset(), rows, cols, stride()};
  }
};

// The transpose of a part, [cols, rows], as the right operand of `products`
// products with `rows_of_x` rows each. For several products, the layout of a
// part whose weight is not a leaf is in scratch storage.
template <typename T>
ConstMatrix<T> TransposedForProducts(const WeightPart<T>& part,
                                     int64_t rows_of_x, int64_t products);

// Adds g^T x to the gradient of a part, at once or later in this backward pass;
// g is [n, rows] and x [n, cols], neither transposed. Both are read now.
template <typename T>
void AddWeightGradient(const WeightPart<T>& part, const ConstMatrix<T>& g,
                       const ConstMatrix<T>& x);

}  // namespace regard

#endif  // AUTODIFF_OPS_LEAF_PRODUCTS_H_
