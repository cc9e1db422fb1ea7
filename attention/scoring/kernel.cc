// Nadaraya-Watson regression with a fixed kernel K. The score is log
// K(|q - k| / width), so that the softmax gives K_i / sum_j K_j. Where a
// compact kernel is 0, the score is -inf.
#include <cmath>
#include <limits>

#include "attention/kernels/gaussian_scores.h"
#include "attention/scoring/kernel.pb.h"
#include "attention/scoring_kit.h"

namespace regard {

namespace {

// Computes log K(u) and its derivative from s = -u^2 / 2, the Gaussian score.
struct LogKernel {
  KernelScore::Shape shape;

  template <typename T>
  T Value(T s) const {
    if (std::isnan(s)) return s;  // needed for CONSTANT, which ignores s
    const T u2 = -2 * s;
    if (shape == KernelScore::CONSTANT) return T(0);
    if (u2 >= T(1)) return -std::numeric_limits<T>::infinity();
    if (shape == KernelScore::BOXCAR) return T(0);
    // In double precision, because C libraries round log1pf() differently.
    const double u = shape == KernelScore::EPANECHNIKOV ? u2 : std::sqrt(u2);
    return static_cast<T>(std::log1p(-u));
  }

  // Returns 0 where K(u) is 0 and at the peak of the triangular kernel.
  template <typename T>
  T Derivative(T s) const {
    const T u2 = -2 * s;
    if (u2 >= T(1)) return T(0);
    if (shape == KernelScore::EPANECHNIKOV) return T(2) / (T(1) - u2);
    if (shape != KernelScore::TRIANGULAR || u2 == T(0)) return T(0);
    const T u = std::sqrt(u2);
    return T(1) / (u * (T(1) - u));
  }
};

template <typename T>
Var<T> LogKernelScores(Var<T> s, LogKernel kernel) {
  Var<T> out = s.tape().New(s.shape(), s.needs_grad());
  for (int64_t i = 0; i < s.size(); ++i) {
    out.data()[i] = kernel.Value(s.data()[i]);
  }
  s.tape().Record("LogKernelScores", out, [=] {
    const T* d_out = out.grad_data();
    const T* x = s.data();
    if (auto d = s.grad_ref()) {
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
  static constexpr bool kEqualWidths = true;

  Kernel(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : kernel_{options.shape()}, width_(static_cast<T>(options.width())) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    const Var<T> gaussian = GaussianScores(
        in.queries, in.keys, forward.tape().Full({1}, T(1) / width_));
    if (kernel_.shape == KernelScore::GAUSSIAN) return gaussian;
    return LogKernelScores(gaussian, kernel_);
  }

 private:
  LogKernel kernel_;
  T width_;
};

REGARD_SCORING_FUNCTION(Kernel, "log K(|q - k| / width)")

}  // namespace regard
