#include "optimization/chunk_addition.h"

#include <algorithm>

#include "autodiff/instantiate.h"

namespace regard {

namespace {

template <typename T>
void AddTo(T* __restrict sum, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

}  // namespace

template <typename T>
void AddChunk(const ParameterStore<T>& store, const SlabChunks& chunks,
              int64_t chunk, const GradientSlab<T>& layout,
              absl::Span<const uint8_t> right_marks, const T* right, T* sum) {
  const int64_t first = chunk * SlabChunks::kElements;
  const auto add = [&](int64_t begin, int64_t end) {
    AddTo(sum + (begin - first), right + (begin - first), end - begin);
  };
  for (const SlabChunks::Range& range : chunks[chunk]) {
    const uint8_t* const touched = layout.RowsOf(right_marks, range.parameter);
    if (touched == nullptr) {
      add(range.begin, range.end);
      continue;
    }
    const ParameterInfo& info = store.parameters()[range.parameter];
    const int64_t cols = info.shape[1];
    for (int64_t begin = range.begin; begin < range.end;) {
      const int64_t row = (begin - info.offset) / cols;
      const int64_t end = std::min(range.end, info.offset + (row + 1) * cols);
      if (touched[row] != 0) add(begin, end);
      begin = end;
    }
  }
}

REGARD_INSTANTIATE_FUNCTION(AddChunk);

}  // namespace regard
