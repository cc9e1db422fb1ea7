#include "seq2seq/decoding/probability_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "autodiff/kernels/transcendental.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

void AddProbabilities(absl::Span<const float> x, absl::Span<float> sum) {
  REGARD_CHECK_EQ(x.size(), sum.size());
  constexpr size_t kChunk = 1024;
  float ratios[kChunk];
  for (size_t first = 0; first < sum.size(); first += kChunk) {
    const size_t size = std::min(kChunk, sum.size() - first);
    const auto n = static_cast<int64_t>(size);
    const absl::Span<const float> a = x.subspan(first, size);
    const absl::Span<float> b = sum.subspan(first, size);
    for (size_t i = 0; i < size; ++i) {
      const auto [low, high] = std::minmax(a[i], b[i]);
      // -inf - -inf is not a number.
      ratios[i] = low == high ? 0 : low - high;
      b[i] = high;
    }
    Exp(ratios, ratios, n);
    for (size_t i = 0; i < size; ++i) ratios[i] += 1;
    Log(ratios, ratios, n);
    for (size_t i = 0; i < size; ++i) b[i] += ratios[i];
  }
}

}  // namespace regard
