#include "attention/transformer/position_embedding.h"

#include <cmath>

#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
PositionEmbedding<T>::PositionEmbedding(
    const PositionEmbeddingConfig& config,
    const TransformerInitialization& initialization, int64_t width,
    const ParameterScope<T>& scope) {
  if (config.kind() == PositionEmbeddingConfig::LEARNED) {
    longest_ = config.longest();
    weight_ = scope.Add("weight", {longest_, width},
                        EmbeddingInitializer(initialization),
                        {.role = ParameterRole::kEmbedding});
  } else if (config.kind() == PositionEmbeddingConfig::SINUSOIDAL) {
    for (int64_t column = 0; column < width; column += 2) {
      frequencies_.push_back(std::pow(
          10000.0, -static_cast<double>(column) / static_cast<double>(width)));
    }
  }
}

template <typename T>
Var<T> PositionEmbedding<T>::Sinusoids(Tape<T>& tape, int64_t first,
                                       int64_t count) const {
  const auto pairs = static_cast<int64_t>(frequencies_.size());
  const Var<T> rows = tape.Constant({count, pairs, 2});
  T* out = rows.data();
  for (int64_t i = first; i < first + count; ++i) {
    for (const double frequency : frequencies_) {
      // The angle is computed in double, so that it stays accurate at large
      // positions.
      const double angle = static_cast<double>(i) * frequency;
      *out++ = static_cast<T>(std::sin(angle));
      *out++ = static_cast<T>(std::cos(angle));
    }
  }
  return rows.Reshape({count, 2 * pairs});
}

template <typename T>
Var<T> PositionEmbedding<T>::operator()(Forward<T>& forward, Var<T> x,
                                        int64_t first) const {
  const int64_t count = x.dim(1);
  const int64_t width = x.dim(2);
  x = forward.Site("token_embedding", x);
  Var<T> rows;
  if (weight_.has_value()) {
    REGARD_CHECK(first + count <= longest_)
        << "positions " << first << " to " << first + count - 1 << " of "
        << longest_;
    rows = Slice(forward[weight_], /*axis=*/0, first, count);
  } else if (frequencies_.empty()) {
    return x;
  } else {
    rows = Sinusoids(forward.tape(), first, count);
    if (rows.cols() > width) rows = Slice(rows, /*axis=*/1, 0, width);
  }
  return x + forward.Site("position_embedding", rows);
}

REGARD_INSTANTIATE_CLASS(PositionEmbedding);

}  // namespace regard
