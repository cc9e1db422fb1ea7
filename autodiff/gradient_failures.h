// Gradient checks of operations, including operations that users write. They
// need no test framework: failures are returned as text.
//
//   EXPECT_THAT(GradientFailures({MakeCase(
//                   "Square", "a matrix", {{{2, 3}}},
//                   [](auto&, auto in) { return Square(in[0]); })}),
//               testing::IsEmpty());
//
// The operation must be a template of the scalar type. In double, derivatives
// are compared with finite differences. Results in float are compared with
// results in double.
#ifndef AUTODIFF_GRADIENT_FAILURES_H_
#define AUTODIFF_GRADIENT_FAILURES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// One input of the operation. Its values are uniform in [low, high], at a
// distance of at least `margin` from `kink`, where the operation is not
// differentiable.
struct TestInputSpec {
  Shape shape;
  double low = -1;
  double high = 1;
  double margin = 0;
  double kink = 0;
};

// Returns the values of the inputs. Every call returns the same values.
std::vector<std::vector<double>> TestInputValues(
    const std::vector<TestInputSpec>& inputs);

// A function that computes the operation on a tape from its inputs.
template <typename T>
using CheckedFunction =
    std::function<Var<T>(Tape<T>&, absl::Span<const Var<T>>)>;

struct GradientCase {
  std::string operation;  // the operation's name in its header
  std::string label;      // describes the case in failure messages
  std::vector<TestInputSpec> inputs;
  CheckedFunction<double> in_double;
  CheckedFunction<float> in_float;
  // The largest permitted difference between the float and double results,
  // relative to the largest element.
  double float_tolerance = 2e-5;
};

// `f` must be generic: f(Tape<T>&, absl::Span<const Var<T>>) -> Var<T>.
template <typename F>
GradientCase MakeCase(std::string operation, std::string label,
                      std::vector<TestInputSpec> inputs, F f) {
  return {std::move(operation), std::move(label), std::move(inputs), f, f};
}

// Checks for each case that
// * derivatives along random directions agree with a four-point stencil to
//   1e-7;
// * the derivatives also agree if only a subset of the inputs needs a gradient;
// * they also agree if one Var is passed as two inputs of equal shape;
// * they also agree if gradients are accumulated onto existing gradients;
// * two runs over memory with different garbage are bit-identical;
// * float agrees with double.
//
// Returns one message for each case that fails, and no message if all cases
// pass.
std::vector<std::string> GradientFailures(
    const std::vector<GradientCase>& cases);

// Extents at, below and above the widths of packets, lanes and blocks.
inline constexpr int64_t kRaggedSizes[] = {1, 7, 15, 16, 17, 33};

// A fused kernel, and its reference implementation as a composition of
// operations. Values and gradients must agree. The tolerance is relative to the
// largest element: `tolerance` in float, and 1e-11 in double.
struct FusedKernelCase {
  std::string label;
  std::vector<TestInputSpec> inputs;
  CheckedFunction<double> fused_in_double;
  CheckedFunction<float> fused_in_float;
  CheckedFunction<double> reference_in_double;
  CheckedFunction<float> reference_in_float;
  double tolerance = 2e-5;
};

template <typename F, typename R>
FusedKernelCase MakeFusedKernelCase(std::string label,
                                    std::vector<TestInputSpec> inputs, F fused,
                                    R reference) {
  return {std::move(label), std::move(inputs), fused, fused,
          reference,        reference};
}

std::vector<std::string> FusedKernelFailures(const FusedKernelCase& test);

}  // namespace regard

#endif  // AUTODIFF_GRADIENT_FAILURES_H_
