// The normalizer that docs/add_a_head_output.md uses as an example: squares of
// the scores, divided by their sum plus a constant. Its options are an
// extension, as in another repository.
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/testing/squares.pb.h"

namespace regard {

template <typename T>
class Squares : public Normalizer<T> {
 public:
  using Options = SquaresNormalizer;

  Squares(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : rest_(static_cast<T>(options.rest())) {}

  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* /*scratch*/) const override {
    const T sum = Sum(n, scores);
    for (int64_t i = 0; i < n; ++i) scores[i] *= scores[i] / sum;
  }

  // The gradient of s_i is 2 * s_i / sum * (d_i - sum_j w_j d_j).
  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    const T sum = Sum(row.size, row.scores);
    T mean = T(0);
    for (int64_t i = 0; i < row.size; ++i) {
      mean += row.weights[i] * gradients[i];
    }
    for (int64_t i = 0; i < row.size; ++i) {
      gradients[i] = 2 * row.scores[i] / sum * (gradients[i] - mean);
    }
  }

 private:
  T Sum(int64_t n, const T* scores) const {
    T sum = rest_;
    for (int64_t i = 0; i < n; ++i) sum += scores[i] * scores[i];
    return sum;
  }

  T rest_;
};

REGARD_NORMALIZER(Squares, "s_i^2 / (rest + sum_j s_j^2)")

}  // namespace regard
