// Transcendental functions of arrays. All code uses these instead of libm,
// whose results for an element could depend on how a loop is vectorised.
//
// Each element goes through the same packet routine, including the tail of an
// array, so its bits do not depend on its position. NaN yields NaN. `x` and `y`
// may be the same array. T is float or double.
#ifndef AUTODIFF_KERNELS_TRANSCENDENTAL_H_
#define AUTODIFF_KERNELS_TRANSCENDENTAL_H_

#include <cstdint>

namespace regard {

// exp(x). inf where the result exceeds the largest finite number (x > 88.72 in
// float, 709.78 in double), exactly 0 where it would be denormal (x < -87.34
// and -708.4) and for -inf, within 2 ulp elsewhere.
template <typename T>
void Exp(const T* x, T* y, int64_t n);

// y = exp(x - shift); returns their sum, with SumRow()'s bits.
template <typename T>
T ExpAndSum(const T* x, T shift, int64_t n, T* y);

// Natural logarithm. Denormal numbers count as the smallest normal one.
template <typename T>
void Log(const T* x, T* y, int64_t n);

// tanh(x), within [-1, 1].
template <typename T>
void Tanh(const T* x, T* y, int64_t n);

// 1 / (1 + exp(-x)).
template <typename T>
void Sigmoid(const T* x, T* y, int64_t n);

// Sine and cosine of x radians. In double one call of libm for each element.
template <typename T>
void Sin(const T* x, T* y, int64_t n);
template <typename T>
void Cos(const T* x, T* y, int64_t n);

// The error function, within [-1, 1].
template <typename T>
void Erf(const T* x, T* y, int64_t n);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_TRANSCENDENTAL_H_
