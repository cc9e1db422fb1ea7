// Sparsemax, max(s_i - tau, 0), where tau makes the weights sum to 1: the
// Euclidean projection of the scores onto the simplex. Martins and Astudillo,
// "From softmax to sparsemax", 2016.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

template <typename T>
class Sparsemax : public Normalizer<T> {
 public:
  using Options = SparsemaxNormalizer;

  Sparsemax(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  // Algorithm 1 of the paper, applied to the scores minus the largest score.
  // Without this subtraction, floats could not represent a large score minus 1.
  // tau is at least -1, so differences below -1 get weight 0 and are not
  // sorted.
  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* scratch) const override {
    const T max = MaxRow(scores, n);
    for (int64_t i = 0; i < n; ++i) scores[i] -= max;
    T* const end = std::copy_if(scores, scores + n, scratch,
                                [](T s) { return s > T(-1); });
    std::sort(scratch, end, std::greater<T>());
    double sum = 0;
    double tau = 0;
    for (const T* s = scratch; s != end; ++s) {
      sum += static_cast<double>(*s);
      const double next = (sum - 1) / static_cast<double>(s - scratch + 1);
      if (static_cast<double>(*s) <= next) break;
      tau = next;
    }
    for (int64_t i = 0; i < n; ++i) {
      scores[i] = std::max(scores[i] - static_cast<T>(tau), T(0));
    }
  }

  // On the support, where weights are above 0, the gradient is d_i minus the
  // mean of d over the support. Elsewhere, it is 0.
  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    const int64_t n = row.size;
    const T* const weights = row.weights;
    double sum = 0;
    int64_t size = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (weights[i] == T(0)) continue;
      sum += static_cast<double>(gradients[i]);
      ++size;
    }
    const auto mean = static_cast<T>(sum / static_cast<double>(size));
    for (int64_t i = 0; i < n; ++i) {
      gradients[i] = weights[i] > T(0) ? gradients[i] - mean : T(0);
    }
  }
};

REGARD_NORMALIZER(Sparsemax, "max(s_i - tau, 0)")

}  // namespace regard
