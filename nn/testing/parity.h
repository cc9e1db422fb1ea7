// Comparisons with a fixture: float against numbers of another library, to
// 1e-5.
#ifndef NN_TESTING_PARITY_H_
#define NN_TESTING_PARITY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"

namespace regard {

// Absolute for numbers below 1, relative above. The largest difference is the
// property "largest_difference" of the running test in its XML report.
void ExpectParity(absl::Span<const float> got, const Fixture::Array& expected,
                  absl::string_view what);

// The gradient of `x` after a backward pass.
absl::Span<const float> Grad(Var<float> x);

// Sets every parameter to the fixture's "value.NAME", of the same shape.
void SetParameters(const Fixture& fixture, ParameterStore<float>* store);

// Compares the gradient of every parameter with the fixture's "grad.NAME".
void ExpectParameterGradients(const Fixture& fixture,
                              const ParameterStore<float>& store,
                              const GradientSlab<float>& gradients);

}  // namespace regard

#endif  // NN_TESTING_PARITY_H_
