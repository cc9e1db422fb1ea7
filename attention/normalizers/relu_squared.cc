// The square of the positive part of each score, divided by a power of the
// number n of keys: max(s_i, 0)^2 / n^p. A weight does not depend on the scores
// of other keys.
//
// Hua et al., "Transformer quality in linear time", 2022. Wortsman et al.,
// "Replacing softmax with ReLU in vision transformers", 2023, study p = 1. If
// all scores are 1 and p is 1, all weights are 1 / n, as with softmax.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"

namespace regard {

template <typename T>
class ReluSquared : public Normalizer<T> {
 public:
  using Options = ReluSquaredNormalizer;
  static constexpr bool kIndependentWeights = true;

  ReluSquared(const Options& options, ParameterScope<T>, const ScoreWidths&)
      : length_power_(options.length_power()) {}

  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* /*scratch*/) const override {
    const T scale = Scale(n);
    for (int64_t i = 0; i < n; ++i) {
      const T positive = std::max(scores[i], T(0));
      scores[i] = positive * positive * scale;
    }
  }

  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    const T twice = T(2) * Scale(row.size);
    for (int64_t i = 0; i < row.size; ++i) {
      gradients[i] *= twice * std::max(row.scores[i], T(0));
    }
  }

 private:
  T Scale(int64_t n) const {
    return static_cast<T>(std::pow(static_cast<double>(n), -length_power_));
  }

  double length_power_;
};

REGARD_NORMALIZER(ReluSquared, "max(s_i, 0)^2 / n^length_power")

}  // namespace regard
