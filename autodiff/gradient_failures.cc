#include "autodiff/gradient_failures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

template <typename T>
using Arrays = std::vector<std::vector<T>>;

class Failures {
 public:
  // Sets the description of the case, which precedes each failure message.
  void SetContext(std::string context) { context_ = std::move(context); }

  template <typename... Parts>
  void Add(const Parts&... parts) {
    found_.push_back(absl::StrCat(context_, parts...));
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  std::string context_;
  std::vector<std::string> found_;
};

constexpr double kTolerance = 1e-7;
constexpr double kStep = 1e-3;
constexpr double kReferenceTolerance = 1e-11;

// Returns random numbers that are uniform in [-1, 1).
std::vector<double> Direction(int64_t size, const std::string& purpose) {
  const RandomStream random(1, purpose);
  std::vector<double> values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = 2 * random.UniformAt(i) - 1;
  return values;
}

Arrays<double> Directions(const Arrays<double>& inputs,
                          const std::string& purpose) {
  Arrays<double> directions;
  for (size_t k = 0; k < inputs.size(); ++k) {
    directions.push_back(Direction(inputs[k].size(), absl::StrCat(purpose, k)));
  }
  return directions;
}

template <typename T>
Arrays<T> As(const Arrays<double>& arrays) {
  Arrays<T> result;
  for (const auto& array : arrays) {
    result.emplace_back(array.begin(), array.end());
  }
  return result;
}

// Fills with `byte` the memory that the next operations will receive.
template <typename T>
void FillFreeMemory(Tape<T>& tape, int byte) {
  constexpr size_t kBytes = size_t{1} << 18;
  for (Arena* arena : {&tape.arena(), &tape.leaf_arena(), &tape.scratch()}) {
    arena->Allocate(kBytes);
    arena->Reset();  // one block of this size replaces all blocks
    const Arena::Mark mark = arena->Save();
    std::memset(arena->Allocate(kBytes), byte, kBytes);
    arena->Rewind(mark);
  }
}

// The conditions under which a function runs.
template <typename T>
struct Setting {
  // The inputs that need a gradient: bit k for input k.
  uint32_t needs_grad = ~0u;
  // Input k is the Var of input alias[k]. If empty, each input is its own Var.
  std::vector<size_t> alias;
  // Gradients that exist before the backward pass. May be empty.
  Arrays<T> standing;
  // The byte that fills uninitialized memory. 0xFF makes every element NaN.
  int free_memory = 0xFF;
};

template <typename T>
struct Outcome {
  std::vector<T> value;
  Arrays<T> gradients;  // 0 for inputs that no gradient reached
  std::vector<bool> touched;
};

// Returns the value of `f` and the gradient of its inner product with
// `cotangent`. If `cotangent` is empty, uses a random cotangent.
template <typename T>
Outcome<T> RunFunction(const CheckedFunction<T>& f,
                       const std::vector<TestInputSpec>& inputs,
                       const Arrays<T>& values, const Setting<T>& setting,
                       std::vector<T> cotangent = {}) {
  Tape<T> tape;
  FillFreeMemory(tape, setting.free_memory);
  // Gradients of leaves are written to storage that starts as NaN.
  Arrays<T> storage = values;
  Arrays<T> gradients;
  for (const auto& array : values) {
    gradients.emplace_back(array.size(), std::numeric_limits<T>::quiet_NaN());
  }
  std::vector<Var<T>> vars;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!setting.alias.empty() && setting.alias[k] != k) {
      vars.push_back(vars[setting.alias[k]]);
      continue;
    }
    // A leaf without elements still has storage.
    storage[k].reserve(1);
    gradients[k].reserve(1);
    const bool needs_grad = (setting.needs_grad >> k & 1) != 0;
    vars.push_back(tape.Leaf(storage[k].data(),
                             needs_grad ? gradients[k].data() : nullptr,
                             inputs[k].shape));
  }
  const Var<T> y = f(tape, vars);
  Outcome<T> outcome;
  outcome.value.assign(y.data(), y.data() + y.size());
  if (cotangent.empty()) {
    const std::vector<double> random = Direction(y.size(), "cotangent");
    cotangent.assign(random.begin(), random.end());
  }
  const Var<T> weights = tape.Constant(Shape({y.size()}), cotangent);
  const Var<T> scalar = tape.New({}, y.needs_grad());
  *scalar.data() = 0;
  tape.Record("Project", scalar, [=] {
    if (auto d = y.grad_ref()) {
      d.AddEach([=](int64_t i) { return weights.data()[i]; });
    }
  });
  for (size_t k = 0; k < setting.standing.size(); ++k) {
    if (!setting.alias.empty() && setting.alias[k] != k) continue;
    if (auto d = vars[k].grad_ref()) {
      const T* standing = setting.standing[k].data();
      d.AddEach([=](int64_t i) { return standing[i]; });
    }
  }
  tape.Backward(scalar);
  for (size_t k = 0; k < values.size(); ++k) {
    outcome.touched.push_back(vars[k].grad_data() != nullptr);
    if (!outcome.touched[k]) gradients[k].assign(values[k].size(), 0);
  }
  outcome.gradients = gradients;
  return outcome;
}

std::vector<double> ValueOf(const GradientCase& test,
                            const Arrays<double>& values,
                            const std::vector<size_t>& alias) {
  Setting<double> setting;
  setting.needs_grad = 0;
  setting.alias = alias;
  return RunFunction<double>(test.in_double, test.inputs, values, setting)
      .value;
}

// Returns d/dt <cotangent, f(values + t directions)> at 0, with an error of
// O(kStep^4).
double Stencil(const GradientCase& test, const Arrays<double>& values,
               const Arrays<double>& directions,
               const std::vector<double>& cotangent,
               const std::vector<size_t>& alias) {
  // Subtracts f(values) from each result, because a large constant would hide
  // small differences.
  const std::vector<double> middle = ValueOf(test, values, alias);
  const auto at = [&](double t) {
    Arrays<double> moved = values;
    for (size_t k = 0; k < values.size(); ++k) {
      for (size_t i = 0; i < values[k].size(); ++i) {
        moved[k][i] += t * directions[k][i];
      }
    }
    const std::vector<double> value = ValueOf(test, moved, alias);
    double sum = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i] != middle[i]) sum += cotangent[i] * (value[i] - middle[i]);
    }
    return sum;
  };
  return (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) /
         (12 * kStep);
}

// Describes the entry of the Jacobian with the largest error.
std::string WorstEntry(const GradientCase& test, const Arrays<double>& values,
                       size_t outputs, const std::vector<size_t>& alias) {
  Setting<double> setting;
  setting.alias = alias;
  double worst = -1;
  std::string text;
  for (size_t o = 0; o < outputs; ++o) {
    std::vector<double> cotangent(outputs, 0);
    cotangent[o] = 1;
    const Outcome<double> outcome = RunFunction<double>(
        test.in_double, test.inputs, values, setting, cotangent);
    for (size_t k = 0; k < values.size(); ++k) {
      if (!alias.empty() && alias[k] != k) continue;
      for (size_t i = 0; i < values[k].size(); ++i) {
        Arrays<double> directions;
        for (const auto& array : values) {
          directions.emplace_back(array.size(), 0);
        }
        directions[k][i] = 1;
        const double numeric =
            Stencil(test, values, directions, cotangent, alias);
        const double analytic = outcome.gradients[k][i];
        const double error = std::abs(analytic - numeric);
        if (error <= worst) continue;
        worst =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
        text = absl::StrCat("output ", o, " by element ", i, " of input ", k,
                            ": ", analytic, ", by differences ", numeric,
                            outcome.touched[k]
                                ? ""
                                : " (the operation records no gradient of this "
                                  "input)");
      }
    }
  }
  return text;
}

void CheckDirections(const GradientCase& test, const Arrays<double>& values,
                     const std::vector<size_t>& alias, Failures* failures) {
  Setting<double> setting;
  setting.alias = alias;
  const Outcome<double> outcome =
      RunFunction<double>(test.in_double, test.inputs, values, setting);
  const std::vector<double> cotangent =
      Direction(outcome.value.size(), "cotangent");
  for (int trial = 0; trial < 2; ++trial) {
    Arrays<double> directions =
        Directions(values, absl::StrCat("direction", trial, "/"));
    double analytic = 0;
    double scale = 1e-3;  // for smaller values, rounding errors dominate
    for (size_t k = 0; k < values.size(); ++k) {
      if (!alias.empty() && alias[k] != k) continue;
      for (size_t i = 0; i < values[k].size(); ++i) {
        const double term = outcome.gradients[k][i] * directions[k][i];
        analytic += term;
        scale += std::abs(term);
      }
    }
    const double numeric = Stencil(test, values, directions, cotangent, alias);
    if (std::abs(analytic - numeric) <= kTolerance * scale) continue;
    failures->Add("the derivative along a direction is ", analytic,
                  ", by differences ", numeric, "; worst: ",
                  WorstEntry(test, values, outcome.value.size(), alias));
    return;
  }
}

template <typename T>
void ExpectSameBits(const std::vector<T>& a, const std::vector<T>& b,
                    const std::string& what, Failures* failures) {
  if (a.size() != b.size()) {
    return failures->Add(what, ": ", a.size(), " and ", b.size(), " elements");
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    failures->Add(what, ", element ", i, ": ", a[i], " and ", b[i]);
    return;
  }
}

template <typename A, typename B>
void ExpectNear(const std::vector<A>& got, const std::vector<B>& wanted,
                double tolerance, const std::string& what, Failures* failures,
                double least = 1e-3) {
  if (got.size() != wanted.size()) {
    return failures->Add(what, ": ", got.size(), " elements, wanted ",
                         wanted.size());
  }
  double largest = least;
  for (const B element : wanted) {
    // An infinite scale would accept every finite element.
    if (!std::isfinite(element)) continue;
    largest = std::max(largest, std::abs(static_cast<double>(element)));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i]) continue;  // also infinities
    const double error =
        std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    if (error <= tolerance * largest) continue;
    failures->Add(what, ", element ", i, ": ", got[i], ", wanted ", wanted[i]);
    return;
  }
}

template <typename T>
void CheckRepeats(const CheckedFunction<T>& f, const GradientCase& test,
                  const Arrays<T>& values, const Outcome<T>& first,
                  Failures* failures) {
  Setting<T> setting;
  setting.free_memory = 0x3C;  // small numbers
  const Outcome<T> second = RunFunction<T>(f, test.inputs, values, setting);
  ExpectSameBits(first.value, second.value, "value of a second run", failures);
  for (size_t k = 0; k < values.size(); ++k) {
    ExpectSameBits(first.gradients[k], second.gradients[k],
                   absl::StrCat("second run, gradient of input ", k), failures);
  }
}

void CheckSubsets(const GradientCase& test, const Arrays<double>& values,
                  const Outcome<double>& all, Failures* failures) {
  for (uint32_t subset = 0; subset + 1 < 1u << values.size(); ++subset) {
    Setting<double> setting;
    setting.needs_grad = subset;
    const Outcome<double> some =
        RunFunction<double>(test.in_double, test.inputs, values, setting);
    const std::string what = absl::StrCat("with subset ", subset);
    ExpectSameBits(some.value, all.value, what, failures);
    for (size_t k = 0; k < values.size(); ++k) {
      const bool asked = (subset >> k & 1) != 0;
      ExpectSameBits(
          some.gradients[k],
          asked ? all.gradients[k] : std::vector<double>(values[k].size(), 0),
          absl::StrCat(what, ", gradient of input ", k), failures);
    }
  }
}

void CheckAccumulation(const GradientCase& test, const Arrays<double>& values,
                       const Outcome<double>& plain, Failures* failures) {
  Setting<double> setting;
  setting.standing = Directions(values, "standing");
  const Outcome<double> outcome =
      RunFunction<double>(test.in_double, test.inputs, values, setting);
  for (size_t k = 0; k < values.size(); ++k) {
    std::vector<double> wanted = plain.gradients[k];
    for (size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] += setting.standing[k][i];
    }
    ExpectNear(outcome.gradients[k], wanted, 1e-12,
               absl::StrCat("on a standing gradient, input ", k), failures);
  }
}

void CheckOne(const GradientCase& test, Failures* failures) {
  const std::string name = absl::StrCat(test.operation, ": ", test.label, ": ");
  failures->SetContext(name);
  const Arrays<double> values = TestInputValues(test.inputs);
  const Outcome<double> outcome =
      RunFunction<double>(test.in_double, test.inputs, values, {});
  CheckDirections(test, values, {}, failures);
  CheckRepeats<double>(test.in_double, test, values, outcome, failures);
  CheckSubsets(test, values, outcome, failures);
  CheckAccumulation(test, values, outcome, failures);
  for (size_t k = 1; k < values.size(); ++k) {
    for (size_t first = 0; first < k; ++first) {
      if (!(test.inputs[first].shape == test.inputs[k].shape)) continue;
      failures->SetContext(
          absl::StrCat(name, "input ", k, " is input ", first, ": "));
      std::vector<size_t> alias;
      for (size_t i = 0; i < values.size(); ++i) alias.push_back(i);
      alias[k] = first;
      CheckDirections(test, values, alias, failures);
    }
  }
  failures->SetContext(name);
  const Arrays<float> narrow = As<float>(values);
  const Outcome<float> in_float =
      RunFunction<float>(test.in_float, test.inputs, narrow, {});
  CheckRepeats<float>(test.in_float, test, narrow, in_float, failures);
  ExpectNear(in_float.value, outcome.value, test.float_tolerance,
             "value in float", failures);
  for (size_t k = 0; k < values.size(); ++k) {
    // The minimum scale is larger than the default, because terms that cancel
    // leave rounding errors.
    ExpectNear(in_float.gradients[k], outcome.gradients[k],
               test.float_tolerance,
               absl::StrCat("in float, gradient of input ", k), failures,
               /*least=*/1e-2);
  }
}

template <typename T>
void CheckAgainstReferenceIn(const FusedKernelCase& test,
                             const CheckedFunction<T>& fused,
                             const CheckedFunction<T>& reference,
                             double tolerance, Failures* failures) {
  const Arrays<T> values = As<T>(TestInputValues(test.inputs));
  const Outcome<T> got = RunFunction<T>(fused, test.inputs, values, {});
  const Outcome<T> wanted = RunFunction<T>(reference, test.inputs, values, {});
  ExpectNear(got.value, wanted.value, tolerance, "value", failures);
  for (size_t k = 0; k < values.size(); ++k) {
    ExpectNear(got.gradients[k], wanted.gradients[k], tolerance,
               absl::StrCat("gradient of input ", k), failures);
  }
}

}  // namespace

std::vector<std::vector<double>> TestInputValues(
    const std::vector<TestInputSpec>& inputs) {
  Arrays<double> values;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const TestInputSpec& input = inputs[k];
    const RandomStream random(1, absl::StrCat("values", k));
    std::vector<double> own(input.shape.size());
    for (size_t i = 0; i < own.size(); ++i) {
      uint64_t draw = i << 16;
      do {
        own[i] =
            input.low + (input.high - input.low) * random.UniformAt(draw++);
      } while (std::abs(own[i] - input.kink) < input.margin);
      // Rounds to float, so that float and double get the same number.
      own[i] = static_cast<float>(own[i]);
    }
    values.push_back(own);
  }
  return values;
}

std::vector<std::string> GradientFailures(
    const std::vector<GradientCase>& cases) {
  Failures failures;
  for (const GradientCase& test : cases) CheckOne(test, &failures);
  return failures.Take();
}

std::vector<std::string> FusedKernelFailures(const FusedKernelCase& test) {
  Failures failures;
  failures.SetContext(absl::StrCat(test.label, ": "));
  CheckAgainstReferenceIn<double>(test, test.fused_in_double,
                                  test.reference_in_double, kReferenceTolerance,
                                  &failures);
  CheckAgainstReferenceIn<float>(test, test.fused_in_float,
                                 test.reference_in_float, test.tolerance,
                                 &failures);
  return failures.Take();
}

}  // namespace regard
