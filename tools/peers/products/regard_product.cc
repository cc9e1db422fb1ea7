// Matrix products of Regard.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/product_precision.h"
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

ProductSpec shape;
// The packed right operand: `panels` in full precision, or `pairs` in bfloat16.
// The other pointer is null. Both are null if the operand is not packed.
float* panels;
uint32_t* pairs;

template <typename Word>
Word* NewWords(int64_t count) {
  return static_cast<Word*>(
      std::aligned_alloc(64, (static_cast<size_t>(count) * 4 + 63) / 64 * 64));
}

}  // namespace

int PrepareProduct(const ProductSpec* wanted, const float* b, int packed) {
  shape = *wanted;
  std::free(panels);
  std::free(pairs);
  panels = nullptr;
  pairs = nullptr;
  if (packed == 0) return 1;
  const ConstMatrix<float> right =
      Stored(b, shape.inner, shape.columns, shape.right_transposed);
  if (shape.in_bfloat16 != 0) {
    pairs = NewWords<uint32_t>(
        regard::RoundedPairsSize(shape.inner, shape.columns));
    regard::RoundedPairs(right, pairs);
  } else {
    panels =
        NewWords<float>(regard::PackedSize<float>(shape.inner, shape.columns));
    regard::WithPackedPanels(right, panels);
  }
  return 1;
}

void ComputeProduct(const float* a, const float* b, float* c) {
  ConstMatrix<float> right =
      Stored(b, shape.inner, shape.columns, shape.right_transposed);
  right.panels = panels;
  right.pairs = pairs;
  regard::Gemm<float>(
      Stored(a, shape.rows, shape.inner, shape.left_transposed), right,
      {c, shape.rows, shape.columns}, regard::GemmMode::kAssign, /*alpha=*/1,
      shape.in_bfloat16 != 0 ? regard::ProductPrecision::kBfloat16
                             : regard::ProductPrecision::kFull);
}
