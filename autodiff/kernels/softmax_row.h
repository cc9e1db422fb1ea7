// The two halves of a softmax of one row, part of which may be hidden: before
// and after the exponentials, which are those of transcendental.h over many
// rows at once. One row alone would wait for its maximum, then for its sum.
#ifndef AUTODIFF_KERNELS_SOFTMAX_ROW_H_
#define AUTODIFF_KERNELS_SOFTMAX_ROW_H_

#include <cstdint>

namespace regard {

// shifted[i] = x[i] - max_i x[i] for i < n where `visible` is null or
// visible[i] not 0, and -inf elsewhere: so its exponential is at most 1. Of a
// row that is hidden or -inf altogether, all is -inf.
template <typename T>
void ShiftByMax(const T* x, const uint8_t* visible, int64_t n, T* shifted);

// Divides the exponentials of n numbers by their sum. All 0 stays so.
template <typename T>
void Normalize(int64_t n, T* weights);

// The same; returns the mean of `values` by these weights. What weighs 0 does
// not count, whatever it is.
template <typename T>
T NormalizeAndMean(int64_t n, const T* values, T* weights);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_SOFTMAX_ROW_H_
