// Softmax of scores times a factor f that depends on the number n of keys. N is
// the number of keys in training.
//
//   exp(f s_i) / sum_j exp(f s_j)   with   f = max(1, log(n) / log(N)).
//
// Chiang and Cholak, "Overcoming a theoretical limitation of self-attention",
// 2022, use f = log(n). The form with N and the maximum comes from Qwen (Bai et
// al., "Qwen technical report", 2023). For rows of at most N keys, f is exactly
// 1, and the layer is plain attention.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/normalizers/softmax_rule.h"

namespace regard {

template <typename T>
class LogLengthSoftmax : public Normalizer<T> {
 public:
  using Options = LogLengthNormalizer;

  LogLengthSoftmax(const Options& options, ParameterScope<T>,
                   const ScoreWidths&)
      : trained_length_(options.trained_length()),
        shorter_(options.shorter()) {}

  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* /*scratch*/) const override {
    const T factor = Factor(n);
    for (int64_t i = 0; i < n; ++i) scores[i] *= factor;
    ApplySoftmax(n, scores);
  }

  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    ApplySoftmaxGradient(row.size, row.weights, gradients);
    const T factor = Factor(row.size);
    for (int64_t i = 0; i < row.size; ++i) gradients[i] *= factor;
  }

 private:
  T Factor(int64_t n) const {
    const double factor = std::log(static_cast<double>(n)) /
                          std::log(static_cast<double>(trained_length_));
    return static_cast<T>(shorter_ ? factor : std::max(factor, 1.0));
  }

  int64_t trained_length_;
  bool shorter_;
};

REGARD_NORMALIZER(
    LogLengthSoftmax,
    "exp(f s_i) / sum_j exp(f s_j), f = max(1, log(n) / log(trained_length))")

}  // namespace regard
