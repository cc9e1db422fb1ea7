// Keys or values of the positions that the rows of a search have read, in
// storage that a step adds to without copying what is there.
#ifndef SEQ2SEQ_DECODING_GROWING_ROWS_H_
#define SEQ2SEQ_DECODING_GROWING_ROWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// The copies that turn rows in place into others: row i becomes rows[i].
class RowCopies {
 public:
  struct Copy {
    int32_t from;
    int32_t to;
  };

  // For at most `max_rows` rows before and after. Storage is of `arena`.
  RowCopies(int64_t max_rows, Arena& arena);

  // Row i of the result is row rows[i] of what there is. To be carried out in
  // order; row `max_rows` is free for temporary use. Rows that stay are not
  // copied. Valid until the next call.
  absl::Span<const Copy> Plan(absl::Span<const int32_t> rows);

 private:
  const int64_t max_rows_;
  int32_t* readers_;  // [max_rows], copies from a row that are to come
  int32_t* ready_;    // [max_rows], rows that no copy to come reads
  Copy* copies_;
};

// An array [rows, .., extent, width] whose rows have the same number of valid
// positions; the others, up to the extent, hold finite numbers that are to be
// masked. The extent grows by a quarter at a time. No gradient passes through
// it.
template <typename T>
class GrowingRows {
 public:
  // The extent is at most `max_positions`. Storage is of `arena`.
  GrowingRows(int64_t max_rows, int64_t max_positions, Arena& arena)
      : max_rows_(max_rows), max_positions_(max_positions), arena_(arena) {}

  // Writes `part` [rows, .., n, width] behind the first `positions` positions,
  // which are the valid ones. The shape is otherwise the array's; with
  // `positions` 0 the rows may be others.
  void Append(int64_t positions, Var<T> part);

  // Adds rows behind the others: `part` [rows, .., n, width] is their first n
  // positions, no more than the others have, and the shape is otherwise the
  // array's. Takes no storage.
  void AddRows(Var<T> part);

  // Makes `rows` rows of what there is.
  void Gather(absl::Span<const RowCopies::Copy> copies, int64_t rows);

  // The array as a constant of `tape`, which later calls of Append() and
  // Gather() change.
  Var<T> View(Tape<T>& tape) const;

 private:
  // Makes room for `extent` positions of each row; those not valid are 0.
  void Widen(int64_t positions, int64_t extent);

  const int64_t max_rows_;
  const int64_t max_positions_;
  Arena& arena_;
  // [max_rows + 1, blocks, extent, width], where blocks is the product of the
  // axes between rows and positions. Null before the first Append().
  T* data_ = nullptr;
  int64_t capacity_ = 0;  // the largest extent that there is storage for
  int64_t rows_ = 0;
  int64_t blocks_ = 0;
  int64_t extent_ = 0;
  int64_t width_ = 0;
  Shape shape_;  // of the first part
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_GROWING_ROWS_H_
