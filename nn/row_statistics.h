// Statistics of each row of attention weights, [batch, heads, queries, keys].
// Even kernels that never store a whole row can compute these statistics.
//
// The statistics describe the weights w before dropout, with magnitudes |w|:
//
//   sum      the sum of |w|; below 1 if a sink takes part of the softmax
//   entropy  -sum_k p_k log p_k for p = |w| / sum, in nats
//   top      the largest |w|; top_key is the first key with this |w|
//   max      the largest w
//   first    |w| of key row 0
//   window   the sum of |w| over the keys at the query's position and at the
//            `width` - 1 positions before it
//
// A row whose keys are all masked has statistics of 0 and a top_key of -1. A
// sink is not a key. The entropy and all fractions of `sum` describe the
// weights without the sink.
#ifndef NN_ROW_STATISTICS_H_
#define NN_ROW_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"

namespace regard {

// The statistics that a hook requests. `sum` is always included.
struct RowStatisticsRequest {
  bool entropy = false;
  bool top = false;  // top, top_key and max
  bool first = false;
  std::vector<int64_t> windows = {};  // widths, each at least 1

  bool any() const { return entropy || top || first || !windows.empty(); }
  void Add(const RowStatisticsRequest& other);
};

// The row statistics of one attention layer, as arrays [batch, heads, queries].
// Arrays that were not requested are null. Trivially copyable. An arena owns
// the memory.
struct AttentionStatistics {
  // Allocates the arrays that `request` requests, for `rows` [batch, heads,
  // queries, ..]. Sets all rows to the statistics of a row whose keys are all
  // masked.
  static AttentionStatistics New(Arena& arena,
                                 const RowStatisticsRequest& request,
                                 const Shape& rows);

  bool has_value() const { return sum != nullptr; }
  int64_t size() const { return batch * heads * queries; }
  // Returns the index of a row in the arrays.
  int64_t Row(int64_t example, int64_t head, int64_t query) const {
    return (example * heads + head) * queries + query;
  }
  // Returns the `window` statistics for the width `width`, which must have been
  // requested.
  const double* CausalWindowSums(int64_t width) const;
  // Returns the `window` statistics for the width widths[i].
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

// The position of a block of weights within all weights of an attention layer.
struct WeightBlockPosition {
  int64_t example = 0;      // index of the first example
  int64_t first_query = 0;  // row of the first query
  int64_t first_key = 0;    // key row of the first column
  // The key row of each column, in ascending order. Empty if the columns are
  // consecutive.
  absl::Span<const int32_t> keys = {};
  bool part_of_keys = false;  // whether other keys exist, with weight 0
  // Query i of the block is at the position of key row `offset` + i * `step`.
  int64_t offset = 0;
  int64_t step = 1;
};

// Writes the statistics of `weights` to their rows in `to`. The last axis of
// `weights` is the keys. If the rank is 4, the second axis is the heads.
template <typename T>
void WriteRowStatistics(Var<T> weights, const WeightBlockPosition& place,
                        const AttentionStatistics& to);

}  // namespace regard

#endif  // NN_ROW_STATISTICS_H_
