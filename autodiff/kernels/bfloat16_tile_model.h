// A model of the tile instructions (AMX) in plain C++. With this model, tests
// cover products by tiles on machines without AMX.
#ifndef AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_
#define AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Returns an implementation that uses the model. Returns null if this build
// does not have AVX-512. Also returns null if `native_rounding` is true but
// this machine does not have native rounding (bfloat16_native_rounding.h).
const Bfloat16Backend* TileModelBfloat16(bool native_rounding);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_TILE_MODEL_H_
