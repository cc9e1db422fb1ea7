// Operations that rearrange elements.
#ifndef AUTODIFF_OPS_SHAPE_OPS_H_
#define AUTODIFF_OPS_SHAPE_OPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

// Axis i of the result is axis axes[i] of x.
template <typename T>
Var<T> Permute(Var<T> x, absl::Span<const int> axes);

// Swaps the last two axes.
template <typename T>
Var<T> Transpose(Var<T> x);

// Concatenates inputs along `axis`. Their other extents must agree.
template <typename T>
Var<T> Concat(absl::Span<const Var<T>> inputs, int axis);

// Returns elements begin .. begin + length - 1 of `axis`.
template <typename T>
Var<T> Slice(Var<T> x, int axis, int64_t begin, int64_t length);

// Returns rows first .. first + count - 1 (axis -2) of one example (axis 0).
// Maps x [n, .., rows, cols] to [1, .., count, cols].
template <typename T>
Var<T> RowsOfExample(Var<T> x, int64_t example, int64_t first, int64_t count);

// Stacks inputs of equal shape along a new axis, which has the index `axis` in
// the result. Along axis 1, inputs may have fewer rows (extent of axis 0) than
// the first input. The missing rows are 0.
template <typename T>
Var<T> Stack(absl::Span<const Var<T>> inputs, int axis);

// Repeats x along axes of extent 1 and along missing leading axes.
template <typename T>
Var<T> BroadcastTo(Var<T> x, const Shape& shape);

}  // namespace regard

#endif  // AUTODIFF_OPS_SHAPE_OPS_H_
