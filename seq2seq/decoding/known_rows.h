// A cache of rows that depend only on a token id, each computed once. In a
// search, such a row is the product of a word's embedding and a weight.
#ifndef SEQ2SEQ_DECODING_KNOWN_ROWS_H_
#define SEQ2SEQ_DECODING_KNOWN_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"

namespace regard {

// No gradient flows through the cache.
template <typename T>
class CachedRows {
 public:
  // Caches rows for ids 0 .. vocabulary - 1. Storage comes from `arena`.
  CachedRows(int64_t vocabulary, Arena& arena)
      : arena_(arena),
        rows_(arena.New<const T*>(vocabulary),
              static_cast<size_t>(vocabulary)) {
    std::fill(rows_.begin(), rows_.end(), nullptr);
  }

  // Returns the rows of `ids`, [number of ids, width], as a constant of `tape`.
  //
  // compute(absl::Span<const int32_t>) returns the rows of ids that are not
  // cached. The row of an id must not depend on the other ids.
  template <typename F>
  Var<T> Get(Tape<T>& tape, absl::Span<const int32_t> ids, F compute) {
    ComputeMissing(ids, compute);
    const Var<T> out =
        tape.Constant({static_cast<int64_t>(ids.size()), width_});
    T* to = out.data();
    for (const int32_t id : ids) {
      to = std::copy_n(rows_[static_cast<size_t>(id)], width_, to);
    }
    return out;
  }

 private:
  template <typename F>
  void ComputeMissing(absl::Span<const int32_t> ids, F compute) {
    auto* const unknown = arena_.New<int32_t>(static_cast<int64_t>(ids.size()));
    int64_t count = 0;
    // Marks an id that is already in `unknown`.
    static constexpr T kPending = 0;
    for (const int32_t id : ids) {
      const T*& row = rows_[static_cast<size_t>(id)];
      if (row != nullptr) continue;
      row = &kPending;
      unknown[count++] = id;
    }
    if (count == 0) return;
    const Var<T> computed =
        compute(absl::Span<const int32_t>(unknown, static_cast<size_t>(count)));
    width_ = computed.cols();
    T* const kept = arena_.New<T>(computed.size());
    std::copy_n(computed.data(), computed.size(), kept);
    for (int64_t i = 0; i < count; ++i) {
      rows_[static_cast<size_t>(unknown[i])] = kept + i * width_;
    }
  }

  Arena& arena_;
  absl::Span<const T*> rows_;  // [vocabulary]; null if not computed yet
  int64_t width_ = 0;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_KNOWN_ROWS_H_
