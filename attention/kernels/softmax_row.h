// Softmax of a row, part of which may be masked: the steps before and after the
// exponentials. Exp() of transcendental.h is called in between for many rows at
// once, which hides the latency of each row's maximum and sum.
#ifndef ATTENTION_KERNELS_SOFTMAX_ROW_H_
#define ATTENTION_KERNELS_SOFTMAX_ROW_H_

#include <cstdint>

namespace regard {

// shifted[i] = x[i] - max_i x[i] for i < n where `visible` is null or
// visible[i] is not 0, and -inf elsewhere, so exponentials are at most 1. If
// all elements are masked or -inf, the whole result is -inf.
template <typename T>
void ShiftByMax(const T* x, const uint8_t* visible, int64_t n, T* shifted);

// Divides n exponentials by their sum. If all are 0, they remain 0.
template <typename T>
void Normalize(int64_t n, T* weights);

// The same; returns the mean of `values` with these weights. Values of weight 0
// are ignored, even if they are NaN.
template <typename T>
T NormalizeAndMean(int64_t n, const T* values, T* weights);

}  // namespace regard

#endif  // ATTENTION_KERNELS_SOFTMAX_ROW_H_
