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
//   TEST(MultiplyTest, EveryOperationHasACase) {
//     ExpectCaseForEachOperation("autodiff/ops/multiply.h", Cases());
//   }
#ifndef AUTODIFF_TESTING_GRADIENT_CHECK_H_
#define AUTODIFF_TESTING_GRADIENT_CHECK_H_

#include <set>
#include <string>
#include <vector>

#include "autodiff/gradient_failures.h"

namespace regard {

// Expects no GradientFailures(), and that a FaultFinder names each operation of
// a case that NaN or an infinity is put into, with others after it.
void CheckGradients(const std::vector<GradientCase>& cases);

// Expects no ReferenceFailures().
void CheckAgainstReference(const ReferenceCase& test);

// Expects a case for each operation that a header declares: each function
// template that returns Var<T> or a structure of them ("operator+" for an
// operator). `exempt` names those that have no gradient to check. The header is
// data of the test.
void ExpectCaseForEachOperation(const std::string& header,
                                const std::vector<GradientCase>& cases,
                                const std::set<std::string>& exempt = {});

// Expects that for each header of `folder` that declares operations, or whose
// source records gradients, a test there calls ExpectCaseForEachOperation().
// `exempt` are headers of functions that only compose operations. All sources
// of the folder are data of the test.
void ExpectTestForEachHeader(const std::string& folder,
                             const std::set<std::string>& exempt = {});

}  // namespace regard

#endif  // AUTODIFF_TESTING_GRADIENT_CHECK_H_
