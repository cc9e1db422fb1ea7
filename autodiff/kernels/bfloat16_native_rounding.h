// Rounding to bfloat16 by instructions of AVX512_BF16. Many processors with
// AVX-512 have them. Bit-identical to integer arithmetic, but faster.
#ifndef AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_
#define AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Whether this build and this machine have the instructions.
bool HasNativeRounding();

// Implementations of Bfloat16Backend::round_rows, which store floats or pairs,
// and of Bfloat16Backend::round_panel. They require HasNativeRounding(). They
// are null if this build does not have AVX-512.
struct NativeRoundingFunctions {
  decltype(Bfloat16Backend::round_rows) rows_to_floats;
  decltype(Bfloat16Backend::round_rows) rows_to_pairs;
  decltype(Bfloat16Backend::round_panel) panel;
};
extern const NativeRoundingFunctions kNativeRounding;

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_
