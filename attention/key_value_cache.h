// The keys and values of the positions decoded so far, for decoding a position
// at a time. Preparing is row-wise, so parts prepared one after another are the
// source prepared at once, and each step equals its row of the full pass.
#ifndef ATTENTION_KEY_VALUE_CACHE_H_
#define ATTENTION_KEY_VALUE_CACHE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/multi_head.h"
#include "autodiff/tape.h"

namespace regard {

// Holds numbers of its own, so that the tape may be reset between steps; no
// gradient passes through it. Copyable.
template <typename T>
class KeyValueCache {
 public:
  // Appends the next positions. Batch, heads and widths are those of the first
  // call; other ones fail a check.
  void Append(const PreparedSource<T>& part);

  // Everything appended, as constants of `tape`; there is something.
  PreparedSource<T> View(Tape<T>& tape) const;

  // Makes example i what example rows[i] was: what a beam search does with its
  // beams. Rows may repeat and be fewer or more than before.
  void Gather(absl::Span<const int64_t> rows);

  // Positions held: the position of the next step.
  int64_t length() const { return length_; }

 private:
  // [batch][heads][capacity][width], of which `length_` positions are filled.
  struct Rows {
    int64_t heads = 0;
    int64_t width = 0;
    std::vector<T> values;
  };

  void Grow(int64_t capacity);

  int64_t batch_ = 0;
  int64_t length_ = 0;
  int64_t capacity_ = 0;
  Rows keys_;
  Rows values_;
};

extern template class KeyValueCache<float>;
extern template class KeyValueCache<double>;

}  // namespace regard

#endif  // ATTENTION_KEY_VALUE_CACHE_H_
