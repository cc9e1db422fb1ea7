// The one harness for the gradients of operations.
//
// A case is an operation, the shapes and domains of its inputs and a generic
// function; the harness makes the values:
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

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// Values are drawn evenly from low .. high, and farther than `margin` from
// `kink`, where the operation has no derivative.
struct CheckedInput {
  Shape shape;
  double low = -1;
  double high = 1;
  double margin = 0;
  double kink = 0;
};

// Computes the operation on a tape from its inputs.
template <typename T>
using CheckedFunction =
    std::function<Var<T>(Tape<T>&, absl::Span<const Var<T>>)>;

struct GradientCase {
  std::string operation;  // as the header spells it
  std::string label;      // what is special about this case
  std::vector<CheckedInput> inputs;
  CheckedFunction<double> in_double;
  CheckedFunction<float> in_float;
  // Largest error of float against double, as a share of the largest element.
  double float_tolerance = 2e-5;
};

// `f` is generic: f(Tape<T>&, absl::Span<const Var<T>>) -> Var<T>.
template <typename F>
GradientCase MakeCase(std::string operation, std::string label,
                      std::vector<CheckedInput> inputs, F f) {
  return {std::move(operation), std::move(label), std::move(inputs), f, f};
}

// Expects of each case: the derivative along random directions agrees with a
// four-point stencil to 1e-7; the same for each subset of inputs that need a
// gradient, for one Var in place of two of a shape, and on top of gradients
// that stand already; two runs over differently soiled memory agree in every
// bit; float agrees with double.
void CheckGradients(const std::vector<GradientCase>& cases);

// The sizes at which packets, lanes and blocks begin and end.
inline constexpr int64_t kRaggedSizes[] = {1, 7, 15, 16, 17, 33};

// Two ways to compute the same, such as a fused kernel and the composition of
// operations that is its reference. Values and gradients must agree, as shares
// of the largest element, to `tolerance` in float and to 1e-11 in double.
struct ReferenceCase {
  std::string label;
  std::vector<CheckedInput> inputs;
  CheckedFunction<double> fused_in_double;
  CheckedFunction<float> fused_in_float;
  CheckedFunction<double> reference_in_double;
  CheckedFunction<float> reference_in_float;
  double tolerance = 2e-5;
};

template <typename F, typename R>
ReferenceCase MakeReferenceCase(std::string label,
                                std::vector<CheckedInput> inputs, F fused,
                                R reference) {
  return {std::move(label), std::move(inputs), fused, fused,
          reference,        reference};
}

void CheckAgainstReference(const ReferenceCase& test);

// Expects a case for each function `Var<T> Name(` that a header declares, an
// operator included ("operator+"). The header is data of the test.
void ExpectCaseForEachOperation(const std::string& header,
                                const std::vector<GradientCase>& cases);

}  // namespace regard

#endif  // AUTODIFF_TESTING_GRADIENT_CHECK_H_
