// The steps of softmax before and after the exponentials, for one row that may
// be partly masked. Between these steps, the caller computes the exponentials
// of many rows at once with Exp() of transcendental.h. This hides the latency
// of each row's maximum and sum.
#ifndef ATTENTION_KERNELS_SOFTMAX_ROW_H_
#define ATTENTION_KERNELS_SOFTMAX_ROW_H_

#include <cstdint>

namespace regard {

// Writes x[i] - max_i x[i] to shifted[i], so that exponentials are at most 1.
// If visible[i] is 0, shifted[i] is -inf. `visible` may be null. If all
// elements are masked or -inf, the whole result is -inf.
template <typename T>
void ShiftByMax(const T* x, const uint8_t* visible, int64_t n, T* shifted);

// Divides n exponentials by their sum. If all are 0, they remain 0.
template <typename T>
void Normalize(int64_t n, T* weights);

// Like Normalize(), but also returns the mean of `values` with these weights.
// Ignores values of weight 0, even if they are NaN.
template <typename T>
T NormalizeAndMean(int64_t n, const T* values, T* weights);

}  // namespace regard

#endif  // ATTENTION_KERNELS_SOFTMAX_ROW_H_
