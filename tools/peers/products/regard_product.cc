// Matrix products of Regard.
#include <cstdint>
#include <cstdlib>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "tools/peers/products/product.h"

namespace {

using regard::ConstMatrix;

// Returns a view of a stored matrix. `rows` and `columns` are the sizes of the
// matrix, even if it is stored transposed.
ConstMatrix<float> Stored(const float* data, int rows, int columns,
                          int transposed) {
  return {data, rows, columns, transposed != 0 ? rows : columns,
          transposed != 0};
}

ProductShape shape;
float* panels;  // the packed right operand, or null

}  // namespace

int PrepareProduct(const ProductShape* wanted, const float* b, int packed) {
  shape = *wanted;
  std::free(panels);
  panels = nullptr;
  if (packed == 0) return 1;
  const int64_t size = regard::PackedSize<float>(shape.inner, shape.columns);
  panels = static_cast<float*>(
      std::aligned_alloc(64, (static_cast<size_t>(size) * 4 + 63) / 64 * 64));
  regard::Packed(Stored(b, shape.inner, shape.columns, shape.right_transposed),
                 panels);
  return 1;
}

void ComputeProduct(const float* a, const float* b, float* c) {
  ConstMatrix<float> right =
      Stored(b, shape.inner, shape.columns, shape.right_transposed);
  right.panels = panels;
  regard::Gemm<float>(Stored(a, shape.rows, shape.inner, shape.left_transposed),
                      right, {c, shape.rows, shape.columns});
}
