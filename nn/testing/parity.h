// Compares float results with a fixture from another library, with a tolerance
// of 1e-5.
#ifndef NN_TESTING_PARITY_H_
#define NN_TESTING_PARITY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"

namespace regard {

// Checks |got - expected| <= 1e-5 (1 + |expected|) for each number. Stores the
// largest difference as the property "largest_difference" of the running test
// in its XML report.
void ExpectParity(absl::Span<const float> got, const Fixture::Array& expected,
                  absl::string_view what);

// Returns the gradient of `x` after a backward pass.
absl::Span<const float> Grad(Var<float> x);

// Sets each parameter to the array "value.NAME" of the fixture. Shapes must be
// equal.
void SetParameters(const Fixture& fixture, ParameterStore<float>* store);

// Compares the gradient of each parameter with the array "grad.NAME" of the
// fixture.
void ExpectParameterGradients(const Fixture& fixture,
                              const ParameterStore<float>& store,
                              const GradientSlab<float>& gradients);

}  // namespace regard

#endif  // NN_TESTING_PARITY_H_
