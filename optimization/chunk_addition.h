// Adds chunks of gradients: the one addition that nodes of the tree of shards
// are made by.
#ifndef OPTIMIZATION_CHUNK_ADDITION_H_
#define OPTIMIZATION_CHUNK_ADDITION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "nn/parameters.h"
#include "optimization/slab_chunks.h"

namespace regard {

// sum += right for one chunk, of which both point to the first element; `sum`
// holds the left child of a node. A row that the right child did not reach,
// by the marks of its whole subtree, adds nothing. `layout`, any slab of the
// store, says where these marks are.
template <typename T>
void AddChunk(const ParameterStore<T>& store, const SlabChunks& chunks,
              int64_t chunk, const GradientSlab<T>& layout,
              absl::Span<const uint8_t> right_marks, const T* right, T* sum);

}  // namespace regard

#endif  // OPTIMIZATION_CHUNK_ADDITION_H_
