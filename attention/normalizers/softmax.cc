// Softmax, exp(s_i) / sum_j exp(s_j), row by row. Attention uses kernels of its
// own in its place; this is their reference implementation.
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

template <typename T>
class SoftmaxWeights : public Normalizer<T> {
 public:
  using Options = SoftmaxNormalizer;

  explicit SoftmaxWeights(const Options&) {}

  void Normalize(int64_t n, T* scores, T* /*scratch*/) const override {
    const T scale = T(1) / ExpAndSum(scores, MaxRow(scores, n), n, scores);
    for (int64_t i = 0; i < n; ++i) scores[i] *= scale;
  }

  void Backward(int64_t n, const T* weights, T* gradients) const override {
    const T mean = DotRow(weights, gradients, n);
    for (int64_t i = 0; i < n; ++i) {
      gradients[i] = weights[i] * (gradients[i] - mean);
    }
  }

  bool IsSoftmax() const override { return true; }
};

REGARD_NORMALIZER(SoftmaxWeights, "exp(s_i) / sum_j exp(s_j)")

}  // namespace regard
