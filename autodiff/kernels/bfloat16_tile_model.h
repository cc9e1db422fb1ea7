// A model of the tile instructions (AMX) in plain C++, with which tests cover
// products by tiles on machines without AMX.
#ifndef AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_
#define AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Returns products by tiles of the model. Null if this build does not have
// AVX-512, or if `native_rounding` and this machine does not have that
// (bfloat16_native_rounding.h).
const Bfloat16Backend* TileModelBfloat16(bool native_rounding);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_
