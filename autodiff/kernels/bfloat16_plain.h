// Products with ProductPrecision::kBfloat16 in plain C++. Tests compare the
// other implementations with this one.
#ifndef AUTODIFF_KERNELS_BFLOAT16_PLAIN_H_
#define AUTODIFF_KERNELS_BFLOAT16_PLAIN_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Does not depend on whether the calling thread flushes denormal numbers.
extern const Bfloat16Backend kPlainBfloat16;

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_PLAIN_H_
