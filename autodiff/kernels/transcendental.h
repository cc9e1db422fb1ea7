// The one door for transcendental functions.
//
// Each element goes through the same packet routine, the tail of an array too,
// so its bits do not depend on its position. Never call libm on an element.
// `x` and `y` may be the same array. T is float or double.
#ifndef AUTODIFF_KERNELS_TRANSCENDENTAL_H_
#define AUTODIFF_KERNELS_TRANSCENDENTAL_H_

#include <cstdint>

namespace regard {

// exp(x); exactly 0 for -inf, and for all x below -87 in float.
template <typename T>
void Exp(const T* x, T* y, int64_t n);

// y = exp(x - shift); returns their sum, with SumRow()'s bits.
template <typename T>
T ExpAndSum(const T* x, T shift, int64_t n, T* y);

// Natural logarithm.
template <typename T>
void Log(const T* x, T* y, int64_t n);

template <typename T>
void Tanh(const T* x, T* y, int64_t n);

// 1 / (1 + exp(-x)).
template <typename T>
void Sigmoid(const T* x, T* y, int64_t n);

// The error function.
template <typename T>
void Erf(const T* x, T* y, int64_t n);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_TRANSCENDENTAL_H_
