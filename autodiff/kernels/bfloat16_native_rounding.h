// Rounding to bfloat16 by the instructions of AVX512_BF16, which many
// processors with AVX-512 have. It is bit-identical and faster than integer
// arithmetic.
#ifndef AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_
#define AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Whether this build and this machine have the instructions.
bool HasNativeRounding();

// Implementations of Bfloat16Backend::round_rows, which store floats or pairs,
// and of Bfloat16Backend::round_panel. They require HasNativeRounding(), and
// are null if this build does not have AVX-512.
struct NativeRoundingFunctions {
  decltype(Bfloat16Backend::round_rows) rows_to_floats;
  decltype(Bfloat16Backend::round_rows) rows_to_pairs;
  decltype(Bfloat16Backend::round_panel) panel;
};
extern const NativeRoundingFunctions kNativeRounding;

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_NATIVE_ROUNDING_H_
