// Keys or values of the positions that the rows of a search have read. A step
// adds positions without copying earlier positions.
#ifndef SEQ2SEQ_DECODING_GROWING_ROWS_H_
#define SEQ2SEQ_DECODING_GROWING_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// Plans the copies that rearrange rows in place: row i becomes the old row
// rows[i].
class RowCopyPlanner {
 public:
  struct Copy {
    int32_t from;
    int32_t to;
  };

  // Supports at most `max_rows` rows before and after the rearrangement.
  // Storage comes from `arena`.
  RowCopyPlanner(int64_t max_rows, Arena& arena);

  // Returns copies, to be made in order, after which row i is the old row
  // rows[i]. Row `max_rows` is used as temporary storage. Unchanged rows are
  // not copied. Valid until the next call.
  absl::Span<const Copy> PlanCopies(absl::Span<const int32_t> rows);

 private:
  const int64_t max_rows_;
  int32_t* readers_;  // [max_rows]: number of pending copies from each row
  int32_t* ready_;    // [max_rows]: rows without pending reads
  Copy* copies_;
};

// An array [rows, .., extent, width] with the same number of valid positions in
// each row.
//
// Positions after the valid positions contain finite numbers and must be
// masked. The extent grows by about a quarter at a time. No gradient flows
// through the array.
template <typename T>
class GrowingRows {
 public:
  // The extent is at most `max_positions`. Storage comes from `arena`.
  GrowingRows(int64_t max_rows, int64_t max_positions, Arena& arena)
      : max_rows_(max_rows), max_positions_(max_positions), arena_(arena) {}

  // Writes `part` [rows, .., n, width] after the first `positions` positions,
  // which must be valid. The other extents of `part` must match the array. If
  // `positions` is 0, the number of rows may change.
  void Append(int64_t positions, Var<T> part);

  // Adds rows after the existing rows. `part` [rows, .., n, width] contains the
  // first n positions of the new rows, where n is at most the extent. Allocates
  // nothing.
  void AddRows(Var<T> part);

  // Rearranges the rows by `copies`, and keeps the first `rows` rows.
  void Gather(absl::Span<const RowCopyPlanner::Copy> copies, int64_t rows);

  // Returns the array as a constant of `tape`. It is not a copy: later calls of
  // Append() and Gather() change it.
  Var<T> View(Tape<T>& tape) const;

 private:
  // Makes space for `extent` positions of each row, and sets the positions that
  // are not valid to 0.
  void GrowExtent(int64_t positions, int64_t extent);

  const int64_t max_rows_;
  const int64_t max_positions_;
  Arena& arena_;
  // The shape is [max_rows + 1, blocks, extent, width], where `blocks` is the
  // product of the axes between rows and positions. Null before the first
  // Append().
  T* data_ = nullptr;
  int64_t capacity_ = 0;  // the largest extent that fits in data_
  int64_t rows_ = 0;
  int64_t blocks_ = 0;
  int64_t extent_ = 0;
  int64_t width_ = 0;
  Shape shape_;  // shape of the first `part`
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_GROWING_ROWS_H_
