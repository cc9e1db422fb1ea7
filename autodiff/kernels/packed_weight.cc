#include "autodiff/kernels/packed_weight.h"

#include <algorithm>

#include "autodiff/kernels/gemm_kernel.h"
#include "autodiff/kernels/matrix.h"

namespace regard {

template <typename T>
int64_t PackedWeight<T>::StorageSize(int64_t out, int64_t in) {
  return (out + kGemmPanel<T> - 1) / kGemmPanel<T> * kGemmPanel<T> * in;
}

template <typename T>
PackedWeight<T>::PackedWeight(const T* weight, int64_t out, int64_t in,
                              T* storage)
    : out_(out), in_(in), panels_(storage) {
  const ConstMatrix<T> transposed =
      ConstMatrix<T>(weight, out, in).Transposed();
  for (int64_t col = 0; col < out; col += kGemmPanel<T>) {
    PackPanel(transposed, /*first=*/0, in, col, panels_ + col * in);
  }
}

template <typename T>
void PackedWeight<T>::Multiply(const T* x, int64_t rows, const T* bias,
                               T* y) const {
  for (int64_t i = 0; in_ == 0 && i < rows; ++i) {
    std::copy_n(bias, out_, y + i * out_);
  }
  for (int64_t col = 0; col < out_; col += kGemmPanel<T>) {
    const int64_t cols = std::min(kGemmPanel<T>, out_ - col);
    for (int64_t first = 0; first < in_; first += kGemmDepth) {
      const Panel<T> panel = {panels_ + col * in_ + first * kGemmPanel<T>,
                              kGemmPanel<T>};
      for (int64_t i = 0; i < rows; i += kGemmRows) {
        T* const to = y + i * out_ + col;
        const GemmAddend<T> addend =
            first == 0 ? GemmAddend<T>{bias + col, 0} : GemmAddend<T>{to, out_};
        RunTile<T>({x + i * in_ + first, in_, 1}, panel,
                   std::min(kGemmDepth, in_ - first),
                   std::min<int64_t>(kGemmRows, rows - i),
                   {to, out_, cols, T(1), addend});
      }
    }
  }
}

template class PackedWeight<float>;
template class PackedWeight<double>;

}  // namespace regard
