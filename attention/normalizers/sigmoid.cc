// Applies the sigmoid to each score plus a bias. With n keys, the default bias
// is -log(n). Ramapuram et al., "Theory, analysis, and best practices for
// sigmoid self-attention", 2024.
#include <cmath>
#include <cstdint>
#include <optional>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

template <typename T>
class SigmoidWeights : public Normalizer<T> {
 public:
  using Options = SigmoidNormalizer;
  static constexpr bool kIndependentWeights = true;

  SigmoidWeights(const Options& options, ParameterScope<T>,
                 const ScoreWidths&) {
    if (options.has_bias()) bias_ = static_cast<T>(options.bias());
  }

  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* /*scratch*/) const override {
    const T bias = bias_.value_or(-std::log(static_cast<T>(n)));
    for (int64_t i = 0; i < n; ++i) scores[i] += bias;
    Sigmoid(scores, scores, n);
  }

  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    const int64_t n = row.size;
    const T* const weights = row.weights;
    for (int64_t i = 0; i < n; ++i) {
      gradients[i] *= weights[i] * (T(1) - weights[i]);
    }
  }

 private:
  std::optional<T> bias_;
};

REGARD_NORMALIZER(SigmoidWeights, "sigmoid(s_i + bias)")

}  // namespace regard
