#include "seq2seq/decoding/growing_rows.h"

#include <algorithm>
#include <cstring>

#include "third_party/abseil_backport/check.h"

namespace regard {

RowCopyPlanner::RowCopyPlanner(int64_t max_rows, Arena& arena)
    : max_rows_(max_rows),
      readers_(arena.New<int32_t>(max_rows)),
      ready_(arena.New<int32_t>(max_rows)),
      // Each cycle of two or more rows needs one additional copy.
      copies_(arena.New<Copy>(max_rows + max_rows / 2)) {}

absl::Span<const RowCopyPlanner::Copy> RowCopyPlanner::PlanCopies(
    absl::Span<const int32_t> rows) {
  const auto count = static_cast<int32_t>(rows.size());
  REGARD_CHECK(count <= max_rows_) << count << " rows, at most " << max_rows_;
  std::fill_n(readers_, max_rows_, 0);
  for (int32_t i = 0; i < count; ++i) {
    REGARD_CHECK(rows[i] >= 0 && rows[i] < max_rows_) << "row " << rows[i];
    if (rows[i] != i) ++readers_[rows[i]];
  }
  size_t planned = 0;
  int64_t num_ready = 0;
  const auto changes = [&](int32_t row) {
    return row < count && rows[row] != row;
  };
  for (int32_t i = 0; i < count; ++i) {
    if (changes(i) && readers_[i] == 0) ready_[num_ready++] = i;
  }
  // readers_ is positive for a row that must wait, and -1 for a row that is
  // done.
  while (num_ready > 0) {
    const int32_t to = ready_[--num_ready];
    const int32_t from = rows[to];
    copies_[planned++] = {from, to};
    readers_[to] = -1;
    if (--readers_[from] == 0 && changes(from)) ready_[num_ready++] = from;
  }
  // Only cycles are left.
  const auto spare = static_cast<int32_t>(max_rows_);
  for (int32_t i = 0; i < count; ++i) {
    if (!changes(i) || readers_[i] < 0) continue;
    copies_[planned++] = {i, spare};
    int32_t to = i;
    for (; rows[to] != i; to = rows[to]) {
      copies_[planned++] = {rows[to], to};
      readers_[to] = -1;
    }
    copies_[planned++] = {spare, to};
    readers_[to] = -1;
  }
  return {copies_, planned};
}

template <typename T>
void GrowingRows<T>::GrowExtent(int64_t positions, int64_t extent) {
  const T* const from = data_;
  const int64_t from_stride = extent_ * width_;
  if (data_ == nullptr || extent > capacity_) {
    capacity_ = std::min(max_positions_, std::max(extent, 2 * capacity_));
    data_ =
        arena_.template New<T>((max_rows_ + 1) * blocks_ * capacity_ * width_);
  }
  extent_ = extent;
  const int64_t stride = extent_ * width_;
  const int64_t valid = positions * width_;
  // Blocks move towards the end, so the last block moves first.
  for (int64_t block = rows_ * blocks_; block-- > 0;) {
    T* const to = data_ + block * stride;
    if (valid > 0) {
      std::memmove(to, from + block * from_stride,
                   static_cast<size_t>(valid) * sizeof(T));
    }
    std::fill(to + valid, to + stride, T(0));
  }
}

template <typename T>
void GrowingRows<T>::Append(int64_t positions, Var<T> part) {
  const Shape& shape = part.shape();
  const int64_t count = shape[-2];
  if (data_ == nullptr) {
    shape_ = shape;
    width_ = shape[-1];
    blocks_ = 1;
    for (int axis = 1; axis + 2 < shape.rank(); ++axis) blocks_ *= shape[axis];
  }
  if (positions == 0) rows_ = shape[0];
  REGARD_CHECK(shape == shape_.With(0, rows_).With(-2, count))
      << shape << " for " << rows_ << " rows of " << shape_;
  const int64_t needed = positions + count;
  REGARD_CHECK(needed <= max_positions_)
      << needed << " positions, at most " << max_positions_;
  int64_t extent = extent_;
  if (data_ == nullptr || needed > extent) {
    constexpr int64_t kMin = 16;
    extent = std::max(needed, extent + std::max(kMin, extent / 4));
    extent = std::min(extent, max_positions_);
  }
  if (positions == 0 || extent > extent_) GrowExtent(positions, extent);
  const T* from = part.data();
  for (int64_t block = 0; block < rows_ * blocks_; ++block) {
    std::copy_n(from, count * width_,
                data_ + (block * extent_ + positions) * width_);
    from += count * width_;
  }
}

template <typename T>
void GrowingRows<T>::AddRows(Var<T> part) {
  const int64_t rows = part.dim(0);
  const int64_t count = part.dim(-2);
  REGARD_CHECK(data_ != nullptr && rows_ + rows <= max_rows_ &&
               count <= extent_ &&
               part.shape() == shape_.With(0, rows).With(-2, count))
      << part.shape() << " behind " << rows_ << " of at most " << max_rows_
      << " rows of " << extent_ << " positions";
  const int64_t stride = extent_ * width_;
  const T* from = part.data();
  T* to = data_ + rows_ * blocks_ * stride;
  for (int64_t block = 0; block < rows * blocks_; ++block) {
    T* const end = std::copy_n(from, count * width_, to);
    from += count * width_;
    to += stride;
    std::fill(end, to, T(0));
  }
  rows_ += rows;
}

template <typename T>
void GrowingRows<T>::Gather(absl::Span<const RowCopyPlanner::Copy> copies,
                            int64_t rows) {
  const int64_t size = blocks_ * extent_ * width_;
  for (const RowCopyPlanner::Copy& copy : copies) {
    std::copy_n(data_ + copy.from * size, size, data_ + copy.to * size);
  }
  rows_ = rows;
}

template <typename T>
Var<T> GrowingRows<T>::View(Tape<T>& tape) const {
  return tape.View(data_, shape_.With(0, rows_).With(-2, extent_));
}

REGARD_INSTANTIATE_CLASS(GrowingRows);

}  // namespace regard
