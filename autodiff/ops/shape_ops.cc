#include "autodiff/ops/shape_ops.h"

#include <algorithm>
#include <array>
#include <utility>

#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/broadcast.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Sets out = x, or adds x to out if kAdd. n is often less than the size of a
// packet.
template <bool kAdd, typename T>
void CopyRow(const T* x, int64_t n, T* out) {
  using P = Packet<T>;
  int64_t j = 0;
  for (; j + kPacketSize<T> <= n; j += kPacketSize<T>) {
    P row = packet::ploadu<P>(x + j);
    if (kAdd) row = packet::padd(packet::ploadu<P>(out + j), row);
    packet::pstoreu(out + j, row);
  }
  const int64_t rest = n - j;
  if (rest == 0) return;
  P row = LoadPart(x + j, rest);
  if (kAdd) row = packet::padd(LoadPart(out + j, rest), row);
  StorePart(out + j, row, rest);
}

// Returns the product of the extents of the axes before `axis`.
int64_t Outer(const Shape& shape, int axis) {
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  return outer;
}

// Concatenates matrices of up to `outer` rows along the columns. Missing rows
// of an input are 0. If `same_columns` is not 0, all inputs have that many
// columns. If it is 0, the columns may differ, and all inputs have `outer`
// rows.
template <typename T>
Var<T> Join(const char* name, absl::Span<const Var<T>> inputs, int64_t outer,
            int64_t same_columns, const Shape& shape) {
  Tape<T>& tape = TapeOf(name, inputs[0]);
  bool needs_grad = false;
  for (const Var<T>& input : inputs) {
    CheckOperand(name, tape, input);
    needs_grad |= input.needs_grad();
  }
  Var<T> y = tape.New(shape, needs_grad);
  const int64_t columns = outer == 0 ? 0 : shape.size() / outer;
  auto* kept = tape.arena().template New<Var<T>>(inputs.size());
  const auto columns_of = [=](Var<T> input) {
    if (same_columns > 0) return same_columns;
    return outer == 0 ? 0 : input.size() / outer;
  };
  int64_t offset = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    kept[k] = inputs[k];
    const int64_t own = columns_of(inputs[k]);
    const int64_t rows = own == 0 ? 0 : inputs[k].size() / own;
    for (int64_t i = 0; i < outer; ++i) {
      T* const to = y.data() + i * columns + offset;
      if (i < rows) {
        std::copy_n(inputs[k].data() + i * own, own, to);
      } else {
        std::fill_n(to, own, T(0));
      }
    }
    offset += own;
  }
  const size_t count = inputs.size();
  tape.Record(name, y, [=] {
    const T* g = y.grad_data();
    int64_t offset = 0;
    for (size_t k = 0; k < count; ++k) {
      const int64_t own = columns_of(kept[k]);
      const int64_t rows = own == 0 ? 0 : kept[k].size() / own;
      if (auto d = kept[k].grad_ref()) {
        const bool accumulate = d.BeginContribution();
        for (int64_t i = 0; i < rows; ++i) {
          const T* from = g + i * columns + offset;
          AddOrAssign(accumulate, own, d.data() + i * own,
                      [=](int64_t j) { return from[j]; });
        }
      }
      offset += own;
    }
  });
  return y;
}

// Returns a part of x with the shape `shape`, which is shorter than the shape
// of x only along `axis`. For each index along the axes before `axis`, copies
// one contiguous run of elements. The first run begins at `offset`.
template <typename T>
Var<T> Runs(const char* name, Var<T> x, const Shape& shape, int axis,
            int64_t offset) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(shape, x.needs_grad());
  const int64_t outer = Outer(shape, axis);
  const int64_t own = shape[axis] * shape.Stride(axis);
  const int64_t step = x.dim(axis) * shape.Stride(axis);
  for (int64_t i = 0; i < outer; ++i) {
    std::copy_n(x.data() + i * step + offset, own, y.data() + i * own);
  }
  tape.Record(name, y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const T* g = y.grad_data();
    T* const grad = d.BeginAdding();
    for (int64_t i = 0; i < outer; ++i) {
      const T* from = g + i * own;
      T* __restrict to = grad + i * step + offset;
      for (int64_t j = 0; j < own; ++j) to[j] += from[j];
    }
  });
  return y;
}

}  // namespace

template <typename T>
Var<T> Permute(Var<T> x, absl::Span<const int> axes) {
  const int rank = x.shape().rank();
  REGARD_CHECK_EQ(static_cast<int>(axes.size()), rank)
      << "axes for Permute of " << x.shape();
  std::array<int64_t, Shape::kMaxRank> extents;
  StridedLoop<1>::Strides strides;
  std::array<bool, Shape::kMaxRank> used = {};
  for (int i = 0; i < rank; ++i) {
    const int axis = x.shape().Axis(axes[i]);
    REGARD_CHECK(!used[axis]) << "Permute takes axis " << axis << " twice";
    used[axis] = true;
    extents[i] = x.dim(axis);
    strides[0][i] = x.shape().Stride(axis);
  }
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(Shape(absl::MakeConstSpan(extents.data(), rank)),
                      x.needs_grad());
  const StridedLoop<1> loop(y.shape(), strides);
  const int64_t inner = loop.inner();
  const int64_t step = loop.inner_stride(0);
  loop.ForEachRow([&](int64_t row, const int64_t(&source)[1]) {
    const T* from = x.data() + source[0];
    T* __restrict to = y.data() + row;
    if (step == 1) return CopyRow<false>(from, inner, to);
    for (int64_t j = 0; j < inner; ++j) to[j] = from[j * step];
  });
  tape.Record("Permute", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool accumulate = d.BeginContribution();
    const T* g = y.grad_data();
    loop.ForEachRow([&](int64_t row, const int64_t(&source)[1]) {
      const T* from = g + row;
      T* __restrict to = d.data() + source[0];
      if (step == 1) {
        return accumulate ? CopyRow<true>(from, inner, to)
                          : CopyRow<false>(from, inner, to);
      }
      if (accumulate) {
        for (int64_t j = 0; j < inner; ++j) to[j * step] += from[j];
      } else {
        for (int64_t j = 0; j < inner; ++j) to[j * step] = from[j];
      }
    });
  });
  return y;
}

template <typename T>
Var<T> Transpose(Var<T> x) {
  const int rank = x.shape().rank();
  REGARD_CHECK(rank >= 2) << "Transpose of " << x.shape();
  std::array<int, Shape::kMaxRank> axes = {0, 1, 2, 3, 4};
  std::swap(axes[rank - 2], axes[rank - 1]);
  return Permute(x, absl::MakeConstSpan(axes.data(), rank));
}

template <typename T>
Var<T> Concat(absl::Span<const Var<T>> inputs, int axis) {
  REGARD_CHECK(!inputs.empty()) << "Concat requires at least one input";
  const Shape& first = inputs[0].shape();
  axis = first.Axis(axis);
  int64_t extent = 0;
  for (const Var<T>& input : inputs) {
    REGARD_CHECK(input.shape().rank() == first.rank() &&
                 input.shape().With(axis, 0) == first.With(axis, 0))
        << "Concat along axis " << axis << " of " << first << " and "
        << input.shape();
    extent += input.dim(axis);
  }
  return Join("Concat", inputs, Outer(first, axis), /*same_columns=*/0,
              first.With(axis, extent));
}

template <typename T>
Var<T> Slice(Var<T> x, int axis, int64_t begin, int64_t length) {
  axis = x.shape().Axis(axis);
  REGARD_CHECK(begin >= 0 && length >= 0 && begin <= x.dim(axis) &&
               length <= x.dim(axis) - begin)
      << "Slice of " << length << " from " << begin << " along axis " << axis
      << " of " << x.shape();
  return Runs("Slice", x, x.shape().With(axis, length), axis,
              begin * x.shape().Stride(axis));
}

template <typename T>
Var<T> RowsOfExample(Var<T> x, int64_t example, int64_t first, int64_t count) {
  const Shape& shape = x.shape();
  REGARD_CHECK(shape.rank() >= 3 && example >= 0 && example < shape[0] &&
               first >= 0 && count >= 0 && first + count <= shape[-2])
      << "rows " << first << " to " << first + count << " of example "
      << example << " of " << shape;
  return Runs("RowsOfExample", x, shape.With(0, 1).With(-2, count),
              shape.rank() - 2, example * shape.Stride(0) + first * shape[-1]);
}

template <typename T>
Var<T> Stack(absl::Span<const Var<T>> inputs, int axis) {
  REGARD_CHECK(!inputs.empty()) << "Stack requires at least one input";
  const Shape& first = inputs[0].shape();
  const Shape shape = first.Insert(axis, static_cast<int64_t>(inputs.size()));
  axis = shape.Axis(axis);
  for (const Var<T>& input : inputs) {
    const bool fewer_rows = axis == 1 && input.shape().rank() == first.rank() &&
                            input.dim(0) < first[0];
    REGARD_CHECK_EQ(
        fewer_rows ? input.shape().With(0, first[0]) : input.shape(), first)
        << "shapes in Stack";
  }
  const int64_t outer = Outer(first, axis);
  return Join("Stack", inputs, outer, outer == 0 ? 0 : first.size() / outer,
              shape);
}

template <typename T>
Var<T> BroadcastTo(Var<T> x, const Shape& shape) {
  const auto loop = BroadcastLoop("BroadcastTo", shape, {x.shape()});
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(shape, x.needs_grad());
  const int64_t inner = loop.inner();
  const bool repeats_inside = loop.inner_stride(0) == 0;
  loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[1]) {
    const T* from = x.data() + offsets[0];
    if (repeats_inside) {
      std::fill_n(y.data() + row, inner, *from);
    } else {
      std::copy_n(from, inner, y.data() + row);
    }
  });
  tape.Record("BroadcastTo", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const T* g = y.grad_data();
    T* const grad = d.BeginAdding();
    loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[1]) {
      T* __restrict to = grad + offsets[0];
      if (repeats_inside) {
        *to += SumRow(g + row, inner);
      } else {
        for (int64_t j = 0; j < inner; ++j) to[j] += g[row + j];
      }
    });
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(Permute);
REGARD_INSTANTIATE_FUNCTION(Transpose);
REGARD_INSTANTIATE_FUNCTION(Concat);
REGARD_INSTANTIATE_FUNCTION(Slice);
REGARD_INSTANTIATE_FUNCTION(RowsOfExample);
REGARD_INSTANTIATE_FUNCTION(Stack);
REGARD_INSTANTIATE_FUNCTION(BroadcastTo);

}  // namespace regard
