#include "autodiff/ops/gather.h"

#include <algorithm>

#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> Gather(Var<T> table, absl::Span<const int32_t> ids,
              const Shape& leading) {
  REGARD_CHECK_EQ(table.shape().rank(), 2)
      << "Gather of a table " << table.shape();
  const int64_t count = static_cast<int64_t>(ids.size());
  REGARD_CHECK_EQ(count, leading.size()) << "ids for " << leading;
  const int64_t cols = table.cols();
  Tape<T>& tape = table.tape();
  Var<T> y = tape.New(leading.Insert(-1, cols), table.needs_grad());
  auto* kept = tape.arena().template New<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    REGARD_CHECK(ids[i] >= 0 && ids[i] < table.dim(0))
        << "row " << ids[i] << " of a table " << table.shape();
    kept[i] = ids[i];
    std::copy_n(table.data() + ids[i] * cols, cols, y.data() + i * cols);
  }
  tape.Record("Gather", y, [=] {
    auto d = table.grad_ref();
    if (!d) return;
    T* const grad =
        d.BeginRows(absl::MakeConstSpan(kept, static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      const T* g = y.grad_data() + i * cols;
      T* __restrict row = grad + kept[i] * cols;
      for (int64_t j = 0; j < cols; ++j) row[j] += g[j];
    }
  });
  return y;
}

template <typename T>
Var<T> GatherColumns(Var<T> table, absl::Span<const int32_t> ids) {
  REGARD_CHECK_EQ(table.shape().rank(), 2)
      << "GatherColumns of a table " << table.shape();
  const int64_t count = static_cast<int64_t>(ids.size());
  const int64_t rows = table.dim(0);
  const int64_t cols = table.cols();
  Tape<T>& tape = table.tape();
  Var<T> y = tape.New({rows, count}, table.needs_grad());
  auto* const kept = tape.arena().template New<int32_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    REGARD_CHECK(ids[i] >= 0 && ids[i] < cols)
        << "column " << ids[i] << " of a table " << table.shape();
    kept[i] = ids[i];
  }
  for (int64_t row = 0; row < rows; ++row) {
    const T* const from = table.data() + row * cols;
    T* __restrict to = y.data() + row * count;
    for (int64_t i = 0; i < count; ++i) to[i] = from[kept[i]];
  }
  tape.Record("GatherColumns", y, [=] {
    T* const grad = GradToAddTo(table);
    if (grad == nullptr) return;
    for (int64_t row = 0; row < rows; ++row) {
      const T* const g = y.grad_data() + row * count;
      T* const to = grad + row * cols;
      for (int64_t i = 0; i < count; ++i) to[kept[i]] += g[i];
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(Gather);
REGARD_INSTANTIATE_FUNCTION(GatherColumns);

}  // namespace regard
