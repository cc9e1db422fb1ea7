// Gradient checks of operations.
//
// A case consists of an operation, the shapes and domains of its inputs and a
// generic function; the values are generated:
//
//   std::vector<GradientCase> Cases() {
//     return {MakeCase("Multiply", "a row", {{{2, 3}}, {{3}}},
//                      [](auto& tape, auto in) { return in[0] * in[1]; })};
//   }
//   TEST(MultiplyTest, Gradients) { CheckGradients(Cases()); }
//
// The lint test of the package fails for an operation that no case names.
#ifndef AUTODIFF_TESTING_GRADIENT_CHECK_H_
#define AUTODIFF_TESTING_GRADIENT_CHECK_H_

#include <vector>

#include "autodiff/gradient_failures.h"

namespace regard {

// Expects no GradientFailures(), and that a FaultFinder names each operation of
// a case that NaN or an infinity is put into, with others after it.
void CheckGradients(const std::vector<GradientCase>& cases);

// Expects no ReferenceFailures().
void CheckAgainstReference(const ReferenceCase& test);

}  // namespace regard

#endif  // AUTODIFF_TESTING_GRADIENT_CHECK_H_
