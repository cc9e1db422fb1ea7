#include "seq2seq/decoder.h"

namespace regard {

template <typename T>
Var<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps) {
  Var<T> weights;
  for (const AttentionMap<T>& map : maps) {
    if (map.over_memory) weights = map.weights;
  }
  if (!weights.has_value()) return weights;
  const int64_t sources = weights.dim(0);
  const int64_t heads = weights.dim(1);
  const Shape shape = {sources, weights.dim(2), weights.dim(3)};
  if (heads == 1) return weights.WithShape(shape);
  const Var<T> mean = weights.tape().Constant(shape);
  const int64_t size = shape.size() / sources;  // of one head
  using Heads =
      Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (int64_t i = 0; i < sources; ++i) {
    const Eigen::Map<const Heads> of_source(weights.data() + i * heads * size,
                                            heads, size);
    Eigen::Map<Heads> to(mean.data() + i * size, 1, size);
    to = of_source.row(0);
    for (int64_t h = 1; h < heads; ++h) to += of_source.row(h);
    to /= static_cast<T>(heads);
  }
  return mean;
}

template Var<float> MemoryAlignment(absl::Span<const AttentionMap<float>>);
template Var<double> MemoryAlignment(absl::Span<const AttentionMap<double>>);

}  // namespace regard
