// Gradient checks of operations as GoogleTest expectations.
//
// A case consists of an operation, the shapes and domains of its inputs, and a
// generic function. The checks generate the values of the inputs. For example:
//
//   std::vector<GradientCase> Cases() {
//     return {MakeCase("Multiply", "a row", {{{2, 3}}, {{3}}},
//                      [](auto& tape, auto in) { return in[0] * in[1]; })};
//   }
//   TEST(MultiplyTest, Gradients) { CheckGradients(Cases()); }
//
// The lint test of the package fails for an operation without a case.
#ifndef AUTODIFF_TESTING_GRADIENT_CHECK_H_
#define AUTODIFF_TESTING_GRADIENT_CHECK_H_

#include <vector>

#include "autodiff/gradient_failures.h"

namespace regard {

// Expects that GradientFailures() returns no message. Also puts NaN and
// infinities into the values and gradients of each operation, and expects that
// a FaultFinder names this operation although other operations follow.
void CheckGradients(const std::vector<GradientCase>& cases);

// Expects that FusedKernelFailures() returns no message.
void CheckAgainstReference(const FusedKernelCase& test);

}  // namespace regard

#endif  // AUTODIFF_TESTING_GRADIENT_CHECK_H_
