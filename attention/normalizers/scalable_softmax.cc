// Scalable softmax: softmax of scores times a learned factor that grows with
// the logarithm of the number n of keys.
//
//   exp(f s_i) / sum_j exp(f s_j)   with   f = scale log(n) + bias.
//
// Each head has a scale and a bias. If keys are added, the largest weight of a
// softmax falls. The factor f can prevent this.
//
// Nakanishi, "Scalable-softmax is superior for attention", 2025 (arXiv
// 2501.19399). With a scale of 0 and a bias of 1, f is exactly 1, and the layer
// is plain attention.
#include <cmath>
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/normalizers/softmax_rule.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "nn/initializers.h"

namespace regard {

// Has the parameters "scale" [heads] and, if set in the options, "bias"
// [heads].
template <typename T>
class ScalableSoftmax : public Normalizer<T> {
 public:
  using Options = ScalableSoftmaxNormalizer;

  ScalableSoftmax(const Options& options, ParameterScope<T> scope,
                  const ScoreWidths& widths) {
    scale_ = scope.Add("scale", {widths.heads}, Constant(options.scale()),
                       {.role = ParameterRole::kHeadBias});
    if (!options.has_bias()) return;
    bias_ = scope.Add("bias", {widths.heads}, Constant(options.bias()),
                      {.role = ParameterRole::kHeadBias});
  }

  Var<T> Parameters(Forward<T>& forward) const override {
    const auto column = [&](Parameter<T> parameter) {
      const Var<T> x = forward[parameter];
      return x.Reshape({x.dim(0), 1});
    };
    if (!bias_.has_value()) return column(scale_);
    const Var<T> both[] = {column(scale_), column(bias_)};
    return Concat<T>(both, 1);
  }

  void Normalize(int64_t n, const T* parameters, T* scores,
                 T* /*scratch*/) const override {
    const T factor = Factor(n, parameters);
    for (int64_t i = 0; i < n; ++i) scores[i] *= factor;
    ApplySoftmax(n, scores);
  }

  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* parameter_gradients) const override {
    const int64_t n = row.size;
    ApplySoftmaxGradient(n, row.weights, gradients);
    const T d_factor = DotRow(static_cast<const T*>(gradients), row.scores, n);
    parameter_gradients[0] += d_factor * LogOf(n);
    if (bias_.has_value()) parameter_gradients[1] += d_factor;
    const T factor = Factor(n, row.parameters);
    for (int64_t i = 0; i < n; ++i) gradients[i] *= factor;
  }

 private:
  static T LogOf(int64_t n) { return std::log(static_cast<T>(n)); }

  T Factor(int64_t n, const T* parameters) const {
    const T scaled = parameters[0] * LogOf(n);
    return bias_.has_value() ? scaled + parameters[1] : scaled;
  }

  Parameter<T> scale_;
  Parameter<T> bias_;  // empty without a bias
};

REGARD_NORMALIZER(ScalableSoftmax,
                  "exp(f s_i) / sum_j exp(f s_j), f = scale log(n) + bias")

}  // namespace regard
