// Softmax, exp(s_i) / sum_j exp(s_j), for each row. This is the reference
// implementation: attention layers use faster kernels for softmax.
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "attention/normalizers/softmax_rule.h"

namespace regard {

template <typename T>
class SoftmaxWeights : public Normalizer<T> {
 public:
  using Options = SoftmaxNormalizer;

  SoftmaxWeights(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* /*scratch*/) const override {
    ApplySoftmax(n, scores);
  }

  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    ApplySoftmaxGradient(row.size, row.weights, gradients);
  }

  bool IsSoftmax() const override { return true; }
};

REGARD_NORMALIZER(SoftmaxWeights, "exp(s_i) / sum_j exp(s_j)")

}  // namespace regard
