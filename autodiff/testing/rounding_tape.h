// Tools for tests of tapes that round the operands of products to bfloat16.
#ifndef AUTODIFF_TESTING_ROUNDING_TAPE_H_
#define AUTODIFF_TESTING_ROUNDING_TAPE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/kernels/product_precision.h"
#include "autodiff/precision.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// Rounds operands, except in scopes whose innermost name is "full".
class RoundOutsideFullRule : public PrecisionRule {
 public:
  ProductPrecision At(const ScopeName* scope) const override;
};

// A tape that follows RoundOutsideFullRule.
struct ProductRoundingTape : Tape<float> {
  ProductRoundingTape();
};

// Returns `n` normal random numbers.
std::vector<float> NormalFloats(int64_t n, uint64_t seed);

// Returns a leaf of normal random numbers.
Var<float> NormalLeaf(Tape<float>& tape, const Shape& shape, uint64_t seed);

// Sets the gradient of `y`, an output, to normal random numbers, and returns
// this gradient. Runs the backward pass of the whole tape.
std::vector<float> BackwardFrom(Var<float> y, uint64_t seed);

// Returns the bits of numbers. Comparing bits distinguishes 0 from -0.
std::vector<uint32_t> Bits(absl::Span<const float> x);

// Returns the bits of the gradient of x, or nothing if it has no gradient.
std::vector<uint32_t> GradientBits(Var<float> x);

}  // namespace regard

#endif  // AUTODIFF_TESTING_ROUNDING_TAPE_H_
