// Nadaraya-Watson with a fixed kernel: log K(|q - k| / width), so that the
// softmax gives K_i / sum_j K_j. Out of a compact kernel's reach it is -inf.
#include <cmath>
#include <limits>

#include "attention/scoring/kernel.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

namespace {

// log K(u) and its derivative, from the squared distance u^2.
struct LogKernel {
  KernelScore::Shape shape;

  template <typename T>
  T Value(T u2) const {
    if (shape == KernelScore::GAUSSIAN) return T(-0.5) * u2;
    if (shape == KernelScore::CONSTANT) return T(0);
    if (u2 >= T(1)) return -std::numeric_limits<T>::infinity();
    if (shape == KernelScore::BOXCAR) return T(0);
    return std::log1p(-std::sqrt(u2));
  }

  // By u^2; 0 out of reach, and at the peak of the Epanechnikov kernel.
  template <typename T>
  T Derivative(T u2) const {
    if (shape == KernelScore::GAUSSIAN) return T(-0.5);
    if (shape != KernelScore::EPANECHNIKOV) return T(0);
    if (u2 >= T(1) || u2 == T(0)) return T(0);
    const T u = std::sqrt(u2);
    return T(-0.5) / (u * (T(1) - u));
  }
};

template <typename T>
Var<T> LogKernelScores(Var<T> u2, LogKernel kernel) {
  Var<T> out = u2.tape().New(u2.shape(), u2.needs_grad());
  out.node()->infinity_is_legal = true;
  for (int64_t i = 0; i < u2.size(); ++i) {
    out.data()[i] = kernel.Value(u2.data()[i]);
  }
  u2.tape().Record("LogKernelScores", out, [=] {
    const T* d_out = out.grad_data();
    const T* x = u2.data();
    if (auto d = u2.grad_ref()) {
      d.AddEach([=](int64_t i) { return d_out[i] * kernel.Derivative(x[i]); });
    }
  });
  return out;
}

}  // namespace

template <typename T>
class Kernel : public ScoringFunction<T> {
 public:
  using Options = KernelScore;

  Kernel(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : kernel_{options.shape()}, width_(static_cast<T>(options.width())) {}

  static void Validate(const Options& options, const ScoreWidths& widths,
                       ConfigProblems& problems) {
    RequireEqualWidths(widths, problems);
    problems.RequirePositive("width", options.width());
    if (options.shape() == KernelScore::SHAPE_UNSPECIFIED) {
      problems.Add("shape",
                   "must be GAUSSIAN, BOXCAR, EPANECHNIKOV or CONSTANT");
    }
  }

  Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
    const Var<T> u2 =
        Sum(Square(Differences(in.queries, in.keys) * (T(1) / width_)),
            /*axis=*/-1);
    return LogKernelScores(u2, kernel_);
  }

 private:
  LogKernel kernel_;
  T width_;
};

REGARD_SCORING_FUNCTION(Kernel, "log K(|q - k| / width)")

}  // namespace regard
