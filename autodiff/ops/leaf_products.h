// Matrix products of rows with a weight, for the implementation of operations.
// Internal to autodiff: other code calls Linear().
//
// A part of a leaf that is an operand of products has:
//
// * Packed copies, if the leaf's owner keeps such copies (packed_weights.h).
//   Later products of all tapes read a copy until the weights change. Results
//   are bit-identical.
//   - Rounded products have copies of the part and of its transpose. The first
//     product makes each copy.
//   - Products in full precision have a copy of the transpose. If the leaf has
//     a gradient, the second product of up to 512 rows in a step makes it.
//     Otherwise, one of the first products after a change of the weights makes
//     it. A large part without gradient is first read in place by many products
//     of up to kGemmFewRows rows.
// * A queue of gradient products of fewer than kGemmDepth rows, for each
//   precision. Their rows are copied, and one product is computed for each
//   kGemmDepth rows, because each small product would read and write the whole
//   gradient. The remainder is added after all records of the backward pass
//   have run. The result is bit-identical to one product of all rows, in the
//   order in which the backward pass reached them.
//
// A weight that is not a leaf has neither a lasting copy nor a queue.
#ifndef AUTODIFF_OPS_LEAF_PRODUCTS_H_
#define AUTODIFF_OPS_LEAF_PRODUCTS_H_

#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "autodiff/packed_weights.h"
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

  PartPlace place() const {
    const int64_t stride = weight.cols();
    return {row * stride + col, rows, cols, stride};
  }

  // Returns the part as it is stored, [rows, cols].
  ConstMatrix<T> matrix() const {
    const PartPlace at = place();
    return {weight.data() + at.offset, rows, cols, at.stride};
  }
};

// Returns the transpose of a part, [cols, rows], as the right operand of
// `products` products with `rows_of_x` rows each. If no owner keeps packed
// copies of the weight, several products share a copy in scratch storage.
template <typename T>
ConstMatrix<T> TransposedForProducts(const WeightPart<T>& part,
                                     int64_t rows_of_x, int64_t products,
                                     ProductPrecision precision);

// Returns the part itself, [rows, cols], as the right operand of `products`
// products. For example, such products compute the gradient of x.
template <typename T>
ConstMatrix<T> PartForProducts(const WeightPart<T>& part, int64_t products,
                               ProductPrecision precision);

// Adds g^T x to the gradient of a part, immediately or later in this backward
// pass. g is [n, rows] and x is [n, cols]. Neither may be transposed. Both are
// read during the call.
template <typename T>
void AddWeightGradient(const WeightPart<T>& part, const ConstMatrix<T>& g,
                       const ConstMatrix<T>& x, ProductPrecision precision);

}  // namespace regard

#endif  // AUTODIFF_OPS_LEAF_PRODUCTS_H_
