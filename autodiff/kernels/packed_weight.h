// A weight laid out for many products of a few rows with it, as in decoding.
//
// Gemm() lays out its operands anew in each call, which takes as long as the
// product itself where there are few rows.
#ifndef AUTODIFF_KERNELS_PACKED_WEIGHT_H_
#define AUTODIFF_KERNELS_PACKED_WEIGHT_H_

#include <cstdint>

namespace regard {

template <typename T>
class PackedWeight {
 public:
  // Elements of storage that a weight [out, in] takes.
  static int64_t StorageSize(int64_t out, int64_t in);

  // Copies `weight` [out, in] to `storage`, which is aligned to 64 bytes and
  // outlives this.
  PackedWeight(const T* weight, int64_t out, int64_t in, T* storage);

  int64_t out() const { return out_; }

  // y [rows, out] = x [rows, in] W^T + bias [out], with the bits of Gemm() that
  // adds to the bias.
  void Multiply(const T* x, int64_t rows, const T* bias, T* y) const;

 private:
  int64_t out_;
  int64_t in_;
  T* panels_;  // [panels, in, columns of a panel], the last padded with zeros
};

extern template class PackedWeight<float>;
extern template class PackedWeight<double>;

}  // namespace regard

#endif  // AUTODIFF_KERNELS_PACKED_WEIGHT_H_
