#include "language/text_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attention/kernels/weighted_values.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

Var<float> MaxOfLengths(Var<float> x, absl::Span<const int32_t> lengths) {
  const int64_t batch = x.dim(0);
  const int64_t time = x.dim(1);
  REGARD_CHECK_EQ(static_cast<int64_t>(lengths.size()), batch);
  const Var<float> padding = x.tape().Full({batch, time, 1}, 0);
  for (int64_t i = 0; i < batch; ++i) {
    const int32_t length = lengths[static_cast<size_t>(i)];
    REGARD_CHECK(length >= 1 && length <= time) << length << " of " << time;
    std::fill_n(padding.data() + i * time + length, time - length,
                -std::numeric_limits<float>::infinity());
  }
  return Max(x + padding, /*axis=*/1);
}

}  // namespace

Var<float> PoolTokens(TextEmbedderConfig::Pooling pooling, Var<float> x,
                      absl::Span<const int32_t> lengths) {
  switch (pooling) {
    case TextEmbedderConfig::CLS:
      return Slice(x, /*axis=*/1, 0, 1).Reshape({x.dim(0), x.dim(2)});
    case TextEmbedderConfig::MAX:
      return MaxOfLengths(x, lengths);
    default:
      return MeanOfFirstRows(x, lengths);
  }
}

void NormalizeVector(absl::Span<const float> vector, absl::Span<float> out) {
  double squares = 0;
  for (const float x : vector) squares += double{x} * x;
  const double norm = std::max(std::sqrt(squares), 1e-12);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(vector[i] / norm);
  }
}

void FinishVector(const VectorOptions& options, absl::Span<const float> pooled,
                  absl::Span<float> out) {
  if (options.normalize) {
    NormalizeVector(pooled, out);
  } else {
    std::copy(pooled.begin(), pooled.end(), out.begin());
  }
}

}  // namespace regard
