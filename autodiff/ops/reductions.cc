#include "autodiff/ops/reductions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// An array viewed as [outer, extent, inner], to be reduced over the middle
// axis.
struct Extents {
  int64_t outer;
  int64_t extent;
  int64_t inner;
  Shape out;
};

Extents AllOf(const Shape& shape) { return {1, shape.size(), 1, Shape()}; }

Extents Along(const Shape& shape, int axis, bool keep) {
  axis = shape.Axis(axis);
  Extents result = {1, shape[axis], shape.Stride(axis),
                    keep ? shape.With(axis, 1) : shape.Remove(axis)};
  for (int i = 0; i < axis; ++i) result.outer *= shape[i];
  // If the extent is 1, one long row replaces many short rows.
  if (result.extent == 1) {
    result.inner *= result.outer;
    result.outer = 1;
  }
  return result;
}

// Returns y = scale * sum.
template <typename T>
Var<T> ScaledSum(const char* name, Var<T> x, const Extents& extents, T scale) {
  const auto [outer, extent, inner, shape] = extents;
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(shape, x.needs_grad());
  for (int64_t i = 0; i < outer; ++i) {
    const T* from = x.data() + i * extent * inner;
    T* __restrict to = y.data() + i * inner;
    if (inner == 1) {
      *to = scale * SumRow(from, extent);
      continue;
    }
    std::fill_n(to, inner, T(0));
    for (int64_t k = 0; k < extent; ++k) {
      for (int64_t j = 0; j < inner; ++j) to[j] += from[k * inner + j];
    }
    for (int64_t j = 0; j < inner; ++j) to[j] *= scale;
  }
  tape.Record(name, y, [=, outer = outer, extent = extent, inner = inner] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool accumulate = d.BeginContribution();
    for (int64_t i = 0; i < outer; ++i) {
      const T* g = y.grad_data() + i * inner;
      T* to = d.data() + i * extent * inner;
      const int64_t rows = inner == 1 ? 1 : extent;
      const int64_t cols = inner == 1 ? extent : inner;
      const int64_t step = inner == 1 ? 0 : 1;
      for (int64_t k = 0; k < rows; ++k) {
        T* __restrict row = to + k * cols;
        if (!accumulate) std::fill_n(row, cols, T(0));
        if (step == 0) {
          const T value = scale * *g;
          for (int64_t j = 0; j < cols; ++j) row[j] += value;
        } else {
          for (int64_t j = 0; j < cols; ++j) row[j] += scale * g[j];
        }
      }
    }
  });
  return y;
}

template <typename T>
Var<T> ScaledMean(Var<T> x, const Extents& extents) {
  REGARD_CHECK(extents.extent > 0) << "Mean over no elements of " << x.shape();
  return ScaledSum("Mean", x, extents, T(1) / static_cast<T>(extents.extent));
}

template <typename T>
Var<T> ReduceMax(Var<T> x, const Extents& extents) {
  const auto [outer, extent, inner, shape] = extents;
  REGARD_CHECK(extent > 0) << "Max over no elements of " << x.shape();
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(shape, x.needs_grad());
  // The index in x of each maximum.
  auto* places = tape.arena().template New<int64_t>(y.size());
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t j = 0; j < inner; ++j) {
      int64_t best = i * extent * inner + j;
      for (int64_t k = 1; k < extent; ++k) {
        const int64_t place = (i * extent + k) * inner + j;
        // The first NaN is the maximum, as in Maximum().
        if (x.data()[place] > x.data()[best] ||
            (std::isnan(x.data()[place]) && !std::isnan(x.data()[best]))) {
          best = place;
        }
      }
      places[i * inner + j] = best;
      y.data()[i * inner + j] = x.data()[best];
    }
  }
  tape.Record("Max", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    T* const grad = d.BeginAdding();
    for (int64_t i = 0; i < y.size(); ++i) grad[places[i]] += y.grad_data()[i];
  });
  return y;
}

}  // namespace

template <typename T>
Var<T> Sum(Var<T> x) {
  return ScaledSum("Sum", x, AllOf(x.shape()), T(1));
}

template <typename T>
Var<T> Mean(Var<T> x) {
  return ScaledMean(x, AllOf(x.shape()));
}

template <typename T>
Var<T> Max(Var<T> x) {
  return ReduceMax(x, AllOf(x.shape()));
}

template <typename T>
Var<T> Sum(Var<T> x, int axis, bool keep) {
  return ScaledSum("Sum", x, Along(x.shape(), axis, keep), T(1));
}

template <typename T>
Var<T> Mean(Var<T> x, int axis, bool keep) {
  return ScaledMean(x, Along(x.shape(), axis, keep));
}

template <typename T>
Var<T> Max(Var<T> x, int axis, bool keep) {
  return ReduceMax(x, Along(x.shape(), axis, keep));
}

#define REGARD_INSTANTIATE(T)              \
  template Var<T> Sum(Var<T>);             \
  template Var<T> Mean(Var<T>);            \
  template Var<T> Max(Var<T>);             \
  template Var<T> Sum(Var<T>, int, bool);  \
  template Var<T> Mean(Var<T>, int, bool); \
  template Var<T> Max(Var<T>, int, bool);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
