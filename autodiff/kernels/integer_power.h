// Powers with an integer exponent.
#ifndef AUTODIFF_KERNELS_INTEGER_POWER_H_
#define AUTODIFF_KERNELS_INTEGER_POWER_H_

#include <cstdint>

namespace regard {

// Returns base^exponent by repeated squaring, so that the bits do not depend on
// the C library. A negative exponent gives the reciprocal of the positive
// power. `exponent` must not be INT64_MIN.
template <typename T>
T IntegerPower(T base, int64_t exponent) {
  T power = T(1);
  for (auto rest = static_cast<uint64_t>(exponent < 0 ? -exponent : exponent);
       rest > 0; rest /= 2) {
    if (rest % 2 == 1) power *= base;
    base *= base;
  }
  return exponent < 0 ? T(1) / power : power;
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_INTEGER_POWER_H_
