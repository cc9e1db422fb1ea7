// Products with ProductPrecision::kBfloat16 by fused multiply-adds.
#ifndef AUTODIFF_KERNELS_BFLOAT16_FMA_H_
#define AUTODIFF_KERNELS_BFLOAT16_FMA_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Null if this build does not have the instruction set.
extern const Bfloat16Backend* const kAvx2Bfloat16;
extern const Bfloat16Backend* const kAvx512Bfloat16;

// Returns kAvx512Bfloat16 with faster rounding. Returns null if this machine
// does not have the instructions (bfloat16_native_rounding.h).
const Bfloat16Backend* Avx512NativeBfloat16();

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_FMA_H_
