// Which keys each query may see. A descriptor that kernels read: it is never
// expanded to a matrix of large negative numbers.
#ifndef ATTENTION_MASK_H_
#define ATTENTION_MASK_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/types/span.h"
#include "attention/positions.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// A key is visible if every part that is present allows it. Kernels keep the
// spans until the backward pass, so they must live as long as the tape's step:
// in the arena, or in the batch.
struct Mask {
  // Valid keys per example, [batch], or per query, [batch, queries]: rows 0 ..
  // length - 1. Empty: all.
  absl::Span<const int32_t> key_lengths = {};
  // Whether a query sees only keys at its own and earlier positions.
  bool causal = false;
  // A query sees only keys at a distance below `window`, before and after it;
  // with `causal`, the last `window` positions including its own (Beltagy et
  // al., "Longformer", 2020). 0: no limit.
  int64_t window = 0;
  // Nonzero where visible, [batch, queries, keys]; empty: all.
  absl::Span<const uint8_t> dense = {};
};

// The keys that one query sees: rows begin .. end - 1, of which those with a
// nonzero entry of `dense`; null: all. 0 <= begin <= end.
struct VisibleKeys {
  int64_t begin;
  int64_t end;
  const uint8_t* dense;

  int64_t size() const { return end - begin; }
  bool operator()(int64_t key) const {
    return begin <= key && key < end && (dense == nullptr || dense[key] != 0);
  }
};

// Reads a mask for scores [batch, heads, queries, keys]. Trivially copyable.
class MaskReader {
 public:
  MaskReader(const Mask& mask, const Positions& positions, int64_t batch,
             int64_t queries, int64_t keys)
      : mask_(mask), positions_(positions), queries_(queries), keys_(keys) {
    const int64_t lengths = static_cast<int64_t>(mask.key_lengths.size());
    REGARD_CHECK(lengths == 0 || lengths == batch || lengths == batch * queries)
        << lengths << " key lengths for " << batch << " examples of " << queries
        << " queries";
    per_query_ = lengths != 0 && lengths != batch;
    REGARD_CHECK(mask.dense.empty() ||
                 static_cast<int64_t>(mask.dense.size()) ==
                     batch * queries * keys)
        << mask.dense.size() << " entries of a dense mask";
    REGARD_CHECK(mask.window >= 0) << "a window of " << mask.window;
  }

  // Inlined into loops over rows as short as a call takes.
  ABSL_ATTRIBUTE_ALWAYS_INLINE VisibleKeys operator()(int64_t example,
                                                      int64_t query) const {
    const int64_t row = example * queries_ + query;
    int64_t begin = 0;
    int64_t end = keys_;
    if (!mask_.key_lengths.empty()) {
      const int32_t length = mask_.key_lengths[per_query_ ? row : example];
      end = std::clamp<int64_t>(length, 0, keys_);
    }
    if (mask_.causal || mask_.window > 0) {
      const int64_t position = positions_.Offset(query);
      if (mask_.window > 0) {
        begin = std::max(begin, position - mask_.window + 1);
        end = std::min(end, position + mask_.window);
      }
      if (mask_.causal) end = std::min(end, position + 1);
      end = std::max<int64_t>(end, 0);
      begin = std::min(begin, end);
    }
    return {begin, end,
            mask_.dense.empty() ? nullptr : mask_.dense.data() + row * keys_};
  }

  // One past the last key that any query of an example sees.
  int64_t VisibleEnd(int64_t example) const {
    int64_t reach = 0;
    for (int64_t q = 0; q < queries_; ++q) {
      reach = std::max(reach, (*this)(example, q).end);
    }
    return reach;
  }

  bool SameForAllQueries() const {
    return !mask_.causal && mask_.window == 0 && mask_.dense.empty() &&
           !per_query_;
  }

 private:
  Mask mask_;
  Positions positions_;
  int64_t queries_;
  int64_t keys_;
  bool per_query_ = false;
};

}  // namespace regard

#endif  // ATTENTION_MASK_H_
