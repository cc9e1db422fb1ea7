// Loops over an output and its operands. The strides of an operand that is
// broadcast differ from the strides of the output. Shapes are aligned at their
// last axes. The extent of an operand is equal to the output's extent, or 1, or
// absent.
#ifndef AUTODIFF_OPS_BROADCAST_H_
#define AUTODIFF_OPS_BROADCAST_H_

#include <cstdint>

#include "autodiff/shape.h"

namespace regard {

// Returns the shape that two operands of `operation` broadcast to.
Shape BroadcastShape(const char* operation, const Shape& a, const Shape& b);

// Writes the step of an operand along each axis of `out` to `strides`. The step
// is 0 if the operand is repeated. `operand` must broadcast to `out`.
void BroadcastStrides(const char* operation, const Shape& operand,
                      const Shape& out, int64_t* strides);

// Views the output as rows of inner() elements. Within a row, each operand has
// a constant stride. Axes are merged if each operand can traverse them with one
// stride.
template <int kOperands>
class StridedLoop {
 public:
  using Strides = int64_t[kOperands][Shape::kMaxRank];

  // strides[k][axis] is the step of operand k along an axis of `out`.
  StridedLoop(const Shape& out, const Strides& strides)
      : empty_(out.size() == 0) {
    for (int axis = 0; axis < out.rank(); ++axis) {
      if (out[axis] == 1) continue;
      bool merges = rank_ > 0;
      for (int k = 0; k < kOperands && merges; ++k) {
        merges = strides_[k][rank_ - 1] == strides[k][axis] * out[axis];
      }
      if (!merges) extents_[rank_++] = 1;
      extents_[rank_ - 1] *= out[axis];
      for (int k = 0; k < kOperands; ++k) {
        strides_[k][rank_ - 1] = strides[k][axis];
      }
    }
    if (rank_ == 0) extents_[rank_++] = 1;
  }

  int64_t inner() const { return extents_[rank_ - 1]; }
  int64_t inner_stride(int operand) const {
    return strides_[operand][rank_ - 1];
  }

  // For each row, calls f(offset in the output, offsets in the operands).
  template <typename F>
  void ForEachRow(F f) const {
    if (empty_) return;
    int64_t index[Shape::kMaxRank] = {};
    int64_t offsets[kOperands] = {};
    for (int64_t out = 0;; out += inner()) {
      f(out, offsets);
      int axis = rank_ - 2;
      for (; axis >= 0; --axis) {
        for (int k = 0; k < kOperands; ++k) offsets[k] += strides_[k][axis];
        if (++index[axis] < extents_[axis]) break;
        for (int k = 0; k < kOperands; ++k) {
          offsets[k] -= strides_[k][axis] * extents_[axis];
        }
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

 private:
  int rank_ = 0;
  bool empty_;
  int64_t extents_[Shape::kMaxRank];
  Strides strides_ = {};
};

// Returns a loop in which each operand steps by 1 or 0 within a row.
template <int kOperands>
StridedLoop<kOperands> BroadcastLoop(const char* operation, const Shape& out,
                                     const Shape (&operands)[kOperands]) {
  typename StridedLoop<kOperands>::Strides strides;
  for (int k = 0; k < kOperands; ++k) {
    BroadcastStrides(operation, operands[k], out, strides[k]);
  }
  return {out, strides};
}

}  // namespace regard

#endif  // AUTODIFF_OPS_BROADCAST_H_
