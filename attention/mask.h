// Masks of attention: which keys each query may see. A mask is a small
// descriptor that kernels read. It is never expanded to a matrix of large
// negative numbers.
#ifndef ATTENTION_MASK_H_
#define ATTENTION_MASK_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/types/span.h"
#include "attention/key_ranges.h"
#include "attention/positions.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// A key is visible if every part of the mask allows it. Kernels read the spans
// until the backward pass. The spans must therefore live as long as the tape's
// step, in the arena or in the batch.
//
// A call may be a part of a longer call, with some rows of its queries and a
// range of its keys. The spans then belong to the longer call.
struct Mask {
  // Number of valid keys, per example [batch] or per query [batch, queries]. A
  // query sees only the key rows 0 .. length - 1. Empty means all.
  absl::Span<const int32_t> key_lengths = {};
  // Whether a query only sees keys at its own and earlier positions.
  bool causal = false;
  // A query only sees keys at a distance below `window`, before and after it.
  // With `causal`, it sees the last `window` positions, including its own
  // (Beltagy et al., "Longformer", 2020). 0 means no limit.
  int64_t window = 0;
  // Nonzero for visible keys, [batch, queries, keys]. Empty means all.
  absl::Span<const uint8_t> dense = {};
  // One masked key per query, [batch, queries], as in leave-one-out regression.
  // Empty means none.
  absl::Span<const int64_t> excluded = {};
  // The keys that a KeySelection selected for each head and query. Read by
  // SelectedScores() and ScaledDotAttention(). MaskReader does not read them,
  // because it does not distinguish heads.
  KeyRanges selected = {};

  // The place of a part in its longer call: the rows at which its queries and
  // keys begin, and the call's numbers of queries and keys. All are 0 if the
  // call is not a part.
  int64_t first_row = 0;
  int64_t first_key = 0;
  int64_t all_queries = 0;
  int64_t all_keys = 0;
  // For a part whose columns are runs of keys: the range of columns that each
  // query sees. Masked keys in this range have score -inf.
  absl::Span<const KeyRange> seen = {};

  bool is_part() const { return all_queries > 0; }

  // Returns the mask of one example, for its queries starting with first_row.
  // The mask must belong to a whole call with these extents.
  Mask ForExample(int64_t example, int64_t batch, int64_t queries, int64_t keys,
                  int64_t first_row) const {
    const auto part = [=](auto all) {
      const auto size = static_cast<int64_t>(all.size()) / batch;
      return all.subspan(example * size, size);
    };
    Mask mask = *this;
    mask.key_lengths = part(key_lengths);
    mask.dense = part(dense);
    mask.excluded = part(excluded);
    mask.all_queries = queries;
    mask.all_keys = keys;
    mask.first_row = first_row;
    if (selected.has_value()) mask.selected = selected.Part(example, first_row);
    return mask;
  }
};

// The keys that one query sees: rows begin .. end - 1, except row `excluded`.
// The range may be empty, but 0 <= begin <= end. If `dense` is not null, key j
// is only visible if dense[j] is nonzero.
struct VisibleKeys {
  int64_t begin;
  int64_t end;
  const uint8_t* dense;
  int64_t excluded;  // -1 means none; may be outside of the range

  int64_t size() const { return end - begin; }
  bool excludes_one() const { return begin <= excluded && excluded < end; }
  bool operator()(int64_t key) const {
    return begin <= key && key < end && key != excluded &&
           (dense == nullptr || dense[key] != 0);
  }
};

// Reads a mask for scores [batch, heads, queries, keys]. Trivially copyable.
class MaskReader {
 public:
  MaskReader(const Mask& mask, const Positions& positions, int64_t batch,
             int64_t queries, int64_t keys)
      : mask_(mask), positions_(positions), queries_(queries), keys_(keys) {
    if (mask.all_queries == 0) mask_.all_queries = queries;
    if (mask.all_keys == 0) mask_.all_keys = keys;
    const int64_t rows = batch * mask_.all_queries;
    const int64_t lengths = static_cast<int64_t>(mask.key_lengths.size());
    REGARD_CHECK(lengths == 0 || lengths == batch || lengths == rows)
        << lengths << " key lengths for " << batch << " examples of "
        << mask_.all_queries << " queries";
    per_query_ = lengths != 0 && lengths != batch;
    REGARD_CHECK(mask.dense.empty() ||
                 static_cast<int64_t>(mask.dense.size()) ==
                     rows * mask_.all_keys)
        << mask.dense.size() << " entries of a dense mask";
    REGARD_CHECK(mask.excluded.empty() ||
                 static_cast<int64_t>(mask.excluded.size()) == rows)
        << mask.excluded.size() << " hidden keys of " << rows << " queries";
    REGARD_CHECK(mask.window >= 0) << "a window of " << mask.window;
  }

  // Always inlined: a function call would take as long as processing a short
  // row.
  ABSL_ATTRIBUTE_ALWAYS_INLINE VisibleKeys operator()(int64_t example,
                                                      int64_t query) const {
    if (!mask_.seen.empty()) {
      const KeyRange seen = mask_.seen[query];
      return {seen.begin, seen.end, nullptr, -1};
    }
    const int64_t row = example * mask_.all_queries + mask_.first_row + query;
    VisibleKeys keys = {0, keys_, nullptr, -1};
    if (!mask_.key_lengths.empty()) {
      const int32_t length = mask_.key_lengths[per_query_ ? row : example];
      keys.end = std::clamp<int64_t>(length - mask_.first_key, 0, keys_);
    }
    if (mask_.causal || mask_.window > 0) {
      const int64_t position = positions_.Offset(query);
      if (mask_.window > 0) {
        keys.begin = std::max(keys.begin, position - mask_.window + 1);
        keys.end = std::min(keys.end, position + mask_.window);
      }
      if (mask_.causal) keys.end = std::min(keys.end, position + 1);
      keys.end = std::max<int64_t>(keys.end, 0);
      keys.begin = std::min(keys.begin, keys.end);
    }
    if (!mask_.dense.empty()) {
      keys.dense = mask_.dense.data() + row * mask_.all_keys + mask_.first_key;
    }
    if (!mask_.excluded.empty()) {
      keys.excluded =
          std::max<int64_t>(mask_.excluded[row] - mask_.first_key, -1);
    }
    return keys;
  }

  // The smallest range that contains the ranges of all queries of the example.
  // Ignores `dense` and `excluded`.
  VisibleKeys Range(int64_t example) const {
    VisibleKeys range = {keys_, 0, nullptr, -1};
    const int64_t rows =
        IsSameForAllQueries() ? std::min<int64_t>(1, queries_) : queries_;
    for (int64_t q = 0; q < rows; ++q) {
      const VisibleKeys seen = (*this)(example, q);
      if (seen.size() == 0) continue;
      range.begin = std::min(range.begin, seen.begin);
      range.end = std::max(range.end, seen.end);
    }
    range.begin = std::min(range.begin, range.end);
    return range;
  }

  // Whether all queries of an example see the same keys. All parts of a call
  // return the same value, so that kernels make the same choice for every part.
  bool IsSameForAllQueries() const {
    return !mask_.causal && mask_.window == 0 && mask_.dense.empty() &&
           mask_.excluded.empty() && !per_query_;
  }
  bool one_query() const { return mask_.all_queries == 1; }

 private:
  Mask mask_;
  Positions positions_;
  int64_t queries_;
  int64_t keys_;
  bool per_query_ = false;
};

}  // namespace regard

#endif  // ATTENTION_MASK_H_
