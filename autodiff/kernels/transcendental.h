// Transcendental functions of arrays. All code uses these functions instead of
// libm: with libm, the result for an element could depend on how a loop is
// vectorized.
//
// Each element goes through the same packet routine, including the tail of an
// array, so its bits do not depend on its position. NaN yields NaN. `x` and `y`
// may be the same array. T is float or double.
#ifndef AUTODIFF_KERNELS_TRANSCENDENTAL_H_
#define AUTODIFF_KERNELS_TRANSCENDENTAL_H_

#include <cstdint>

namespace regard {

// exp(x), within 2 ulp. Returns inf if the result exceeds the largest finite
// number (x > 88.72 in float, 709.78 in double). Returns exactly 0 if the
// result would be denormal (x < -87.34 in float, -708.4 in double).
template <typename T>
void Exp(const T* x, T* y, int64_t n);

// y = exp(x - shift). Returns the sum of y, bit-identical to SumRow().
template <typename T>
T ExpAndSum(const T* x, T shift, int64_t n, T* y);

// The natural logarithm. Denormal numbers count as the smallest normal number.
template <typename T>
void Log(const T* x, T* y, int64_t n);

// tanh(x), within [-1, 1].
template <typename T>
void Tanh(const T* x, T* y, int64_t n);

// 1 / (1 + exp(-x)).
template <typename T>
void Sigmoid(const T* x, T* y, int64_t n);

// The sine and cosine of x in radians. In double, libm computes each element.
template <typename T>
void Sin(const T* x, T* y, int64_t n);
template <typename T>
void Cos(const T* x, T* y, int64_t n);

// The error function, within [-1, 1].
template <typename T>
void Erf(const T* x, T* y, int64_t n);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_TRANSCENDENTAL_H_
