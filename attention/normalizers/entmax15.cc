// 1.5-entmax, max(s_i / 2 - tau, 0)^2, where tau makes the weights sum to 1.
// Peters, Niculae and Martins, "Sparse sequence-to-sequence models", 2019.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "attention/normalizer.h"
#include "attention/normalizers/normalizer.pb.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

template <typename T>
class Entmax15 : public Normalizer<T> {
 public:
  using Options = Entmax15Normalizer;

  Entmax15(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  // Algorithm 2 of the paper: for each size of the support, tau solves a
  // quadratic equation. tau is at least max_i s_i / 2 - 1. If s_i / 2 is below
  // this bound, score i gets weight 0 and is not sorted.
  void Normalize(int64_t n, const T* /*parameters*/, T* scores,
                 T* scratch) const override {
    const T max = MaxRow(scores, n);
    for (int64_t i = 0; i < n; ++i) scores[i] = (scores[i] - max) / T(2);
    T* const end = std::copy_if(scores, scores + n, scratch,
                                [](T s) { return s > T(-1); });
    std::sort(scratch, end, std::greater<T>());
    double sum = 0;
    double squares = 0;
    double tau = -1;
    for (const T* s = scratch; s != end; ++s) {
      const auto x = static_cast<double>(*s);
      const auto size = static_cast<double>(s - scratch + 1);
      sum += x;
      squares += x * x;
      const double mean = sum / size;
      const double spread = squares - sum * mean;
      const double next = mean - std::sqrt(std::max(0.0, (1 - spread) / size));
      if (x <= next) break;
      tau = next;
    }
    for (int64_t i = 0; i < n; ++i) {
      const T root = std::max(scores[i] - static_cast<T>(tau), T(0));
      scores[i] = root * root;
    }
  }

  // The gradient of s_i is r_i (d_i - sum_j r_j d_j / sum_j r_j), where r_i is
  // the square root of weight i, and d is the gradient of the weights.
  void Backward(const RowScoresAndWeights<T>& row, T* gradients,
                T* /*parameter_gradients*/) const override {
    const int64_t n = row.size;
    const T* const weights = row.weights;
    using std::sqrt;
    const T sum = SumEach<T>(
        n, [](auto w) { return sqrt(w); }, weights);
    const T dot = SumEach<T>(
        n, [](auto w, auto d) { return sqrt(w) * d; }, weights,
        static_cast<const T*>(gradients));
    const T mean = dot / sum;
    for (int64_t i = 0; i < n; ++i) {
      gradients[i] = std::sqrt(weights[i]) * (gradients[i] - mean);
    }
  }
};

REGARD_NORMALIZER(Entmax15, "max(s_i / 2 - tau, 0)^2")

}  // namespace regard
