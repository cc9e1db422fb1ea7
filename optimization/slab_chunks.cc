#include "optimization/slab_chunks.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
SlabChunks::SlabChunks(const ParameterStore<T>& store) {
  REGARD_CHECK(store.finalized()) << "chunks of an unfinished store";
  const int64_t chunks = (store.slab_size() + kElements - 1) / kElements;
  first_.assign(static_cast<size_t>(chunks) + 1, 0);
  const absl::Span<const ParameterInfo> infos = store.parameters();
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].options.trainable) continue;
    const int64_t end = infos[i].offset + infos[i].size();
    for (int64_t begin = infos[i].offset; begin < end;) {
      const int64_t chunk = begin / kElements;
      const int64_t next = std::min(end, (chunk + 1) * kElements);
      ranges_.push_back({begin, next, static_cast<int32_t>(i)});
      first_[chunk + 1] = ranges_.size();
      begin = next;
    }
  }
  // The entry of a chunk without ranges is the end of the previous chunk.
  for (size_t i = 1; i < first_.size(); ++i) {
    first_[i] = std::max(first_[i], first_[i - 1]);
  }
}

template SlabChunks::SlabChunks(const ParameterStore<float>&);
template SlabChunks::SlabChunks(const ParameterStore<double>&);

}  // namespace regard
