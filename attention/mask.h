// Which keys each query may see. A descriptor that kernels read: it is never
// expanded to a matrix of large negative numbers.
#ifndef ATTENTION_MASK_H_
#define ATTENTION_MASK_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// A key is visible if every part that is present allows it. Spans must live as
// long as the tape's step: the arena, or the batch.
struct Mask {
  // Valid keys per example, [batch], or per query, [batch, queries]; empty:
  // all.
  absl::Span<const int32_t> key_lengths = {};
  // Query i sees keys 0 .. i + query_offset.
  bool causal = false;
  int64_t query_offset = 0;
  // Nonzero where visible, [batch, queries, keys]; empty: all.
  absl::Span<const uint8_t> dense = {};
};

// The part of a mask that one query sees.
struct VisibleKeys {
  int64_t limit;         // keys 0 .. limit - 1, of which
  const uint8_t* dense;  // those with a nonzero entry; null: all
  bool operator()(int64_t key) const {
    return dense == nullptr || dense[key] != 0;
  }
};

// Reads a mask for scores [batch, heads, queries, keys].
class MaskReader {
 public:
  MaskReader(const Mask& mask, int64_t batch, int64_t queries, int64_t keys)
      : mask_(mask), queries_(queries), keys_(keys) {
    const int64_t lengths = static_cast<int64_t>(mask.key_lengths.size());
    REGARD_CHECK(lengths == 0 || lengths == batch || lengths == batch * queries)
        << lengths << " key lengths for " << batch << " examples of " << queries
        << " queries";
    per_query_ = lengths != 0 && lengths != batch;
    REGARD_CHECK(mask.dense.empty() ||
                 static_cast<int64_t>(mask.dense.size()) ==
                     batch * queries * keys)
        << mask.dense.size() << " entries of a dense mask";
  }

  VisibleKeys operator()(int64_t example, int64_t query) const {
    const int64_t row = example * queries_ + query;
    int64_t limit = keys_;
    if (!mask_.key_lengths.empty()) {
      limit = std::min<int64_t>(limit,
                                mask_.key_lengths[per_query_ ? row : example]);
    }
    if (mask_.causal) {
      limit = std::min(limit, query + mask_.query_offset + 1);
    }
    return {std::max<int64_t>(limit, 0),
            mask_.dense.empty() ? nullptr : mask_.dense.data() + row * keys_};
  }

 private:
  Mask mask_;
  int64_t queries_;
  int64_t keys_;
  bool per_query_ = false;
};

}  // namespace regard

#endif  // ATTENTION_MASK_H_
