// Products with ProductPrecision::kBfloat16, block by block.
//
// Internal to the kernels: other code calls Gemm().
#ifndef AUTODIFF_KERNELS_BFLOAT16_PRODUCT_H_
#define AUTODIFF_KERNELS_BFLOAT16_PRODUCT_H_

#include <cstdint>

#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/matrix.h"

namespace regard {

// Computes columns begin .. end - 1 of c = addend + a b. `begin` is a multiple
// of kPairPanel. If `addend` is null, +0 is used. `addend_stride` may be 0. The
// extents of the operands must match, and the inner dimension must not be
// empty.
void RunBfloat16Product(const Bfloat16Backend& backend,
                        const ConstMatrix<float>& a,
                        const ConstMatrix<float>& b, const float* addend,
                        int64_t addend_stride, const MutableMatrix<float>& c,
                        int64_t begin, int64_t end);

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_PRODUCT_H_
