#include "seq2seq/decoder.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps,
                       const AlignmentChoice& choice) {
  Var<T> weights;
  int64_t layer = 0;
  for (const AttentionMap<T>& map : maps) {
    if (!map.over_memory) continue;
    if (choice.layer < 0 || layer == choice.layer) weights = map.weights;
    ++layer;
  }
  if (layer == 0) return weights;
  REGARD_CHECK(weights.has_value())
      << "no map over the memory of layer " << choice.layer << " of " << layer;
  const int64_t sources = weights.dim(0);
  const int64_t heads = weights.dim(1);
  REGARD_CHECK(choice.head < heads)
      << "no head " << choice.head << " of " << heads;
  const Shape shape = {sources, weights.dim(2), weights.dim(3)};
  if (heads == 1) return weights.WithShape(shape);
  const Var<T> alignment = weights.tape().Constant(shape);
  const int64_t size = shape.size() / sources;  // of one head
  for (int64_t i = 0; i < sources; ++i) {
    const T* from =
        weights.data() + (i * heads + std::max<int64_t>(choice.head, 0)) * size;
    T* const to = alignment.data() + i * size;
    std::copy_n(from, size, to);
    if (choice.head >= 0) continue;
    for (int64_t h = 1; h < heads; ++h) {
      from += size;
      for (int64_t j = 0; j < size; ++j) to[j] += from[j];
    }
    for (int64_t j = 0; j < size; ++j) to[j] /= static_cast<T>(heads);
  }
  return alignment;
}

REGARD_INSTANTIATE_FUNCTION(MemoryAlignment);

}  // namespace regard
