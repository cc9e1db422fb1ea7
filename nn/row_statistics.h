// Statistics of each row of attention weights, [batch, heads, queries, keys].
// A kernel that never holds a whole row gives them, too.
//
// They are of weights w before dropout, with magnitudes |w|:
//
//   sum      the sum of |w|: below 1 where a sink takes a part of the softmax
//   entropy  -sum_k p_k log p_k for p = |w| / sum, in nats
//   top      the largest |w|, and top_key: its key, the first of equals
//   max      the largest w
//   first    |w| of key row 0
//   window   the sum of |w| over the keys at the query's position and at the
//            `width` - 1 positions before it
//
// A row that sees no key has 0 everywhere, and the top key -1. A sink is not a
// key: it only makes weights smaller, so the entropy and all fractions of `sum`
// are those without it.
#ifndef NN_ROW_STATISTICS_H_
#define NN_ROW_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// Which statistics a probe reads. `sum` comes with all of them.
struct RowWish {
  bool entropy = false;
  bool top = false;  // top, top_key and max
  bool first = false;
  std::vector<int64_t> windows = {};  // widths, each at least 1

  bool any() const { return entropy || top || first || !windows.empty(); }
  void Add(const RowWish& other);
};

// Arrays [batch, heads, queries], null where they are not wished for. Trivially
// copyable; the memory is an arena's.
struct RowStatistics {
  // Returns the statistics of `rows` [batch, heads, queries, ..] that see no
  // key. Only the arrays that `wish` names are made.
  static RowStatistics New(Arena& arena, const RowWish& wish,
                           const Shape& rows);

  bool has_value() const { return sum != nullptr; }
  int64_t size() const { return batch * heads * queries; }
  // The index of a row in the arrays.
  int64_t Row(int64_t example, int64_t head, int64_t query) const {
    return (example * heads + head) * queries + query;
  }
  // The window of this width, which was wished for.
  const double* Window(int64_t width) const;
  // The same for widths[i].
  double* window(int64_t i) const { return windows + i * size(); }

  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  double* sum = nullptr;
  double* entropy = nullptr;
  double* top = nullptr;
  int32_t* top_key = nullptr;
  double* max = nullptr;
  double* first = nullptr;
  double* windows = nullptr;  // [widths, batch, heads, queries]
  absl::Span<const int64_t> widths = {};
};

// The place of weights in the call whose statistics are wanted. They may be a
// part of its weights.
struct RowPlace {
  int64_t example = 0;      // the first one
  int64_t first_query = 0;  // the row of the first query
  int64_t first_key = 0;    // the key row of the first column
  // The key row of each column, in rising order, where the columns do not
  // follow on each other; else empty.
  absl::Span<const int32_t> keys = {};
  bool part_of_keys = false;  // whether there are other keys, of weight 0
  // Query i of these weights is at the position of key row `offset` + i `step`.
  int64_t offset = 0;
  int64_t step = 1;
};

// Writes the statistics of weights, of any rank, to their place in `to`. The
// last axis is the keys; weights of rank 4 have heads.
template <typename T>
void ReadRows(Var<T> weights, const RowPlace& place, const RowStatistics& to);

}  // namespace regard

#endif  // NN_ROW_STATISTICS_H_
