// Rows that depend on a token id alone, each computed once: in a search, the
// product of a word's embedding and a weight.
#ifndef SEQ2SEQ_DECODING_KNOWN_ROWS_H_
#define SEQ2SEQ_DECODING_KNOWN_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/tape.h"

namespace regard {

// No gradient passes through it.
template <typename T>
class KnownRows {
 public:
  // For ids 0 .. vocabulary - 1. The rows are kept in `arena`.
  KnownRows(int64_t vocabulary, Arena& arena)
      : arena_(arena),
        rows_(arena.New<const T*>(vocabulary),
              static_cast<size_t>(vocabulary)) {
    std::fill(rows_.begin(), rows_.end(), nullptr);
  }

  // The rows of `ids`, [number of ids, width], as a constant of `tape`.
  // compute(absl::Span<const int32_t>) returns those of some ids, each of which
  // it is given once in the life of this object; what it makes of an id must
  // not depend on the others.
  template <typename F>
  Var<T> Get(Tape<T>& tape, absl::Span<const int32_t> ids, F compute) {
    Learn(ids, compute);
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
  void Learn(absl::Span<const int32_t> ids, F compute) {
    auto* const unknown = arena_.New<int32_t>(static_cast<int64_t>(ids.size()));
    int64_t count = 0;
    // Marks an id that is in `unknown`.
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
  absl::Span<const T*> rows_;  // [vocabulary]; null: not computed yet
  int64_t width_ = 0;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_KNOWN_ROWS_H_
