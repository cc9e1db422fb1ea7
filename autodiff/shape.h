// The shape of a dense row-major array of rank 0 to 5. An extent is at most
// 2^31 - 1, and an array has fewer than 2^59 elements. A larger array fails a
// check.
#ifndef AUTODIFF_SHAPE_H_
#define AUTODIFF_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <string>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

class Shape {
 public:
  static constexpr int kMaxRank = 5;

  // Constructs the shape of a scalar.
  Shape() = default;

  Shape(std::initializer_list<int64_t> extents)
      : Shape(absl::MakeConstSpan(extents.begin(), extents.size())) {}

  explicit Shape(absl::Span<const int64_t> extents)
      : rank_(static_cast<int32_t>(extents.size())) {
    REGARD_CHECK(rank_ <= kMaxRank) << "rank " << rank_;
    for (int i = 0; i < rank_; ++i) SetExtent(i, extents[i]);
    CheckSize();
  }

  int rank() const { return rank_; }

  // The extent of `axis`. A negative axis counts from the end.
  int64_t operator[](int axis) const { return extents_[Axis(axis)]; }

  // Returns `axis` counted from the front.
  int Axis(int axis) const {
    const int from_front = axis < 0 ? axis + rank_ : axis;
    REGARD_CHECK(from_front >= 0 && from_front < rank_)
        << "axis " << axis << " of " << ToString();
    return from_front;
  }

  int64_t size() const {
    int64_t size = 1;
    for (int i = 0; i < rank_; ++i) size *= extents_[i];
    return size;
  }

  // The distance in elements between neighbours along `axis`.
  int64_t Stride(int axis) const {
    int64_t stride = 1;
    for (int i = rank_ - 1, first = Axis(axis); i > first; --i) {
      stride *= extents_[i];
    }
    return stride;
  }

  // The extents of the array viewed as a matrix [rows, cols]. cols() is the
  // extent of the last axis, and rows() is the product of all other extents.
  int64_t cols() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
  int64_t rows() const {
    int64_t rows = 1;
    for (int i = 0; i + 1 < rank_; ++i) rows *= extents_[i];
    return rows;
  }

  Shape With(int axis, int64_t extent) const {
    Shape out = *this;
    out.SetExtent(Axis(axis), extent);
    out.CheckSize();
    return out;
  }

  // Returns this shape with an additional axis at index `axis` of the result. A
  // negative index counts from the end: -1 appends an axis.
  Shape Insert(int axis, int64_t extent) const {
    Shape out = *this;
    ++out.rank_;
    REGARD_CHECK(out.rank_ <= kMaxRank) << "rank " << out.rank_;
    axis = out.Axis(axis);
    std::copy_backward(extents_ + axis, extents_ + rank_,
                       out.extents_ + out.rank_);
    out.SetExtent(axis, extent);
    out.CheckSize();
    return out;
  }

  // Returns this shape without `axis`. For example, Remove(-1) of [.., n] is
  // [..], and its size is rows().
  Shape Remove(int axis) const {
    Shape out = *this;
    axis = Axis(axis);
    std::copy(extents_ + axis + 1, extents_ + rank_, out.extents_ + axis);
    out.extents_[--out.rank_] = 0;
    return out;
  }

  friend bool operator==(const Shape& a, const Shape& b) {
    return std::memcmp(&a, &b, sizeof(Shape)) == 0;
  }

  // Returns a text such as "[2, 3]".
  std::string ToString() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(extents_[i]);
    }
    return text + "]";
  }

  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.ToString();
  }

 private:
  void SetExtent(int axis, int64_t extent) {
    REGARD_CHECK(extent >= 0 && extent <= INT32_MAX)
        << "extent " << extent << " of axis " << axis << " is not within 0 .. "
        << INT32_MAX;
    extents_[axis] = static_cast<int32_t>(extent);
  }

  // Fails if any product of extents is too large to address in bytes.
  void CheckSize() const {
    int64_t size = 16;  // bytes; no element is larger
    bool overflow = false;
    for (int i = 0; i < rank_; ++i) {
      const int64_t extent = extents_[i] == 0 ? 1 : extents_[i];
      overflow |= __builtin_mul_overflow(size, extent, &size);
    }
    REGARD_CHECK(!overflow) << ToString() << " has too many elements";
  }

  int32_t extents_[kMaxRank] = {};  // 0 beyond the rank
  int32_t rank_ = 0;
};

inline constexpr Shape kScalarShape;

}  // namespace regard

#endif  // AUTODIFF_SHAPE_H_
