// Adds the gradients of two sibling nodes in the tree of shards, for one chunk.
#ifndef OPTIMIZATION_CHUNK_ADDITION_H_
#define OPTIMIZATION_CHUNK_ADDITION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "nn/parameters.h"
#include "optimization/slab_chunks.h"

namespace regard {

// Computes sum += right for one chunk. Both pointers point to the first element
// of the chunk. `sum` contains the left child of a node, and `right` contains
// the right child. `right_marks` are the marks of the whole right subtree. Rows
// that are not marked add nothing. `layout` determines the positions of the
// marks, and may be any slab of the store.
template <typename T>
void AddChunk(const ParameterStore<T>& store, const SlabChunks& chunks,
              int64_t chunk, const GradientSlab<T>& layout,
              absl::Span<const uint8_t> right_marks, const T* right, T* sum);

}  // namespace regard

#endif  // OPTIMIZATION_CHUNK_ADDITION_H_
