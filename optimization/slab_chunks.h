// Cuts the slabs of a parameter store into chunks of equal size. Chunks are the
// units of work of gradient reduction and of optimizer steps.
#ifndef OPTIMIZATION_SLAB_CHUNKS_H_
#define OPTIMIZATION_SLAB_CHUNKS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "nn/parameters.h"
#include "optimization/shard_tree.h"

namespace regard {

using ChunkRange = IndexRange<int64_t>;

class SlabChunks {
 public:
  static constexpr int64_t kElements = 4096;  // elements of a full chunk

  // The part of one parameter in one chunk: elements [begin, end) of the slab.
  struct Range {
    int64_t begin;
    int64_t end;
    int32_t parameter;  // index in the store
  };

  // `store` must be finalized.
  template <typename T>
  explicit SlabChunks(const ParameterStore<T>& store);

  int64_t size() const { return static_cast<int64_t>(first_.size()) - 1; }

  ChunkRange all() const { return {0, size()}; }

  // Returns the part of `values` that belongs to `chunks`. `values` has `width`
  // elements for each chunk, possibly fewer for the last chunk.
  template <typename T>
  static absl::Span<T> PartOf(absl::Span<T> values, ChunkRange chunks,
                              int64_t width = kElements) {
    const auto size = static_cast<int64_t>(values.size());
    const int64_t begin = std::min(size, chunks.begin * width);
    const int64_t end = std::min(size, chunks.end * width);
    return values.subspan(static_cast<size_t>(begin),
                          static_cast<size_t>(end - begin));
  }

  // Returns the ranges of one chunk, in ascending order. Elements between the
  // ranges are zero in every gradient.
  absl::Span<const Range> operator[](int64_t chunk) const {
    return absl::MakeConstSpan(ranges_).subspan(
        first_[chunk], first_[chunk + 1] - first_[chunk]);
  }

 private:
  std::vector<Range> ranges_;
  std::vector<size_t> first_;  // first range of each chunk, and the end
};

}  // namespace regard

#endif  // OPTIMIZATION_SLAB_CHUNKS_H_
