// The keys that each query may see, as ranges. A KeySelection returns them
// before scores exist, and kernels read them.
#ifndef ATTENTION_KEY_RANGES_H_
#define ATTENTION_KEY_RANGES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The key rows begin .. end - 1.
struct KeyRange {
  int32_t begin;
  int32_t end;
};

// Ranges of key rows for each row of [batch, heads, queries]. The ranges of a
// row are in ascending order and do not touch. Keys outside of them are not
// visible. A mask may hide more keys. Trivially copyable. The memory belongs to
// an arena.
class KeyRanges {
 public:
  // No selection, which means all keys.
  KeyRanges() = default;

  // Returns empty ranges, with memory for at most `most` ranges per row.
  static KeyRanges New(Arena& arena, int64_t batch, int64_t heads,
                       int64_t queries, int64_t most) {
    KeyRanges all;
    all.has_value_ = true;
    all.heads_ = heads;
    all.queries_ = queries;
    all.most_ = most;
    const int64_t rows = batch * heads * queries;
    all.ranges_ = arena.New<KeyRange>(rows * most);
    all.counts_ = arena.New<int32_t>(rows);
    for (int64_t row = 0; row < rows; ++row) all.counts_[row] = 0;
    return all;
  }

  // Appends a range that begins at or after the end of the row's last range.
  // Merges ranges that touch, and ignores an empty range.
  void Add(int64_t example, int64_t head, int64_t query, KeyRange range) {
    if (range.begin >= range.end) return;
    const int64_t row = Row(example, head, query);
    KeyRange* const of_row = ranges_ + row * most_;
    int32_t& count = counts_[row];
    if (count > 0 && of_row[count - 1].end >= range.begin) {
      REGARD_DCHECK(of_row[count - 1].end == range.begin);
      of_row[count - 1].end = range.end;
      return;
    }
    REGARD_CHECK_LT(count, most_) << "ranges of a query";
    of_row[count++] = range;
  }

  // Whether there is a selection.
  bool has_value() const { return has_value_; }
  int64_t heads() const { return heads_; }

  absl::Span<const KeyRange> operator()(int64_t example, int64_t head,
                                        int64_t query) const {
    const int64_t row = Row(example, head, query);
    return {ranges_ + row * most_, static_cast<size_t>(counts_[row])};
  }

  // Returns the ranges of one example, for its queries starting with
  // first_query.
  KeyRanges Part(int64_t example, int64_t first_query) const {
    KeyRanges part = *this;
    part.first_row_ = Row(example, 0, first_query);
    return part;
  }

 private:
  int64_t Row(int64_t example, int64_t head, int64_t query) const {
    return first_row_ + (example * heads_ + head) * queries_ + query;
  }

  bool has_value_ = false;
  int64_t heads_ = 0;
  int64_t queries_ = 0;  // number of queries in the whole call
  int64_t most_ = 0;
  int64_t first_row_ = 0;
  KeyRange* ranges_ = nullptr;  // [rows, most]
  int32_t* counts_ = nullptr;   // [rows]
};

}  // namespace regard

#endif  // ATTENTION_KEY_RANGES_H_
