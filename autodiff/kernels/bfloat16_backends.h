// The implementations of products with ProductPrecision::kBfloat16.
#ifndef AUTODIFF_KERNELS_BFLOAT16_BACKENDS_H_
#define AUTODIFF_KERNELS_BFLOAT16_BACKENDS_H_

#include <cstdint>
#include <vector>

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Returns the implementations that products may use on this machine, the
// fastest one last. Excludes AMX if the environment has REGARD_AMX=0, or if the
// results of AMX in a test product differ from the other implementations.
// Thread-safe. The list never changes.
const std::vector<const Bfloat16Backend*>& Bfloat16Backends();

// Returns the fastest implementation for a left operand with `rows` rows.
const Bfloat16Backend& Bfloat16BackendFor(int64_t rows);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_BACKENDS_H_
