// The order in which a recurrent network reads a batch of sequences of
// different lengths.
#ifndef AUTODIFF_RECURRENT_RAGGED_STEPS_H_
#define AUTODIFF_RECURRENT_RAGGED_STEPS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// Sequences are sorted by descending length. The sequences that have not ended
// at a step are therefore its first rows: rows 0 .. live(step) - 1. Step s of a
// sequence reads position s. In reverse, it reads position length - 1 - s, so
// that each sequence is read from its own end. Positions at or after the length
// are never read.
//
// Trivially copyable. Data that depends on lengths is stored in the arena.
class RaggedSteps {
 public:
  // `lengths` [batch], each in 0 .. time. Empty if all lengths are `time`.
  RaggedSteps(int64_t batch, int64_t time, absl::Span<const int32_t> lengths,
              bool reverse, Arena& arena)
      : batch_(batch),
        time_(time),
        steps_(batch == 0 ? 0 : time),
        reverse_(reverse) {
    if (lengths.empty()) return;
    REGARD_CHECK_EQ(static_cast<int64_t>(lengths.size()), batch);
    for (const int32_t length : lengths) {
      REGARD_CHECK(length >= 0 && length <= time)
          << "length " << length << " of " << time << " steps";
    }
    steps_ = *std::max_element(lengths.begin(), lengths.end());
    auto* const copy = arena.New<int32_t>(batch);
    auto* const live = arena.New<int64_t>(steps_ + 1);
    std::fill_n(live, steps_ + 1, 0);
    for (int64_t b = 0; b < batch; ++b) {
      copy[b] = lengths[b];
      if (lengths[b] > 0) ++live[lengths[b] - 1];
    }
    for (int64_t s = steps_ - 1; s > 0; --s) live[s - 1] += live[s];
    auto* const first = arena.New<int64_t>(steps_ + 1);
    first[0] = 0;
    for (int64_t s = 0; s < steps_; ++s) first[s + 1] = first[s] + live[s];
    // live[n] sequences are longer than n. They precede sequences of length n.
    auto* const next = arena.New<int64_t>(steps_ + 1);
    std::copy_n(live, steps_ + 1, next);
    auto* const order = arena.New<int32_t>(batch);
    for (int64_t b = 0; b < batch; ++b) {
      order[next[lengths[b]]++] = static_cast<int32_t>(b);
    }
    lengths_ = copy;
    live_ = live;
    first_ = first;
    order_ = order;
  }

  int64_t batch() const { return batch_; }
  int64_t time() const { return time_; }
  int64_t length(int64_t sequence) const {
    return lengths_ == nullptr ? time_ : lengths_[sequence];
  }

  // steps(): the number of steps of the longest sequence. total(): the sum of
  // the numbers of steps of all sequences.
  int64_t steps() const { return steps_; }
  int64_t total() const { return first(steps_); }

  // live(step): the number of sequences that have this step, 0 .. steps().
  // first(step): the total number of earlier steps of all sequences.
  int64_t live(int64_t step) const {
    if (live_ == nullptr) return step < steps_ ? batch_ : 0;
    return live_[step];
  }
  int64_t first(int64_t step) const {
    return first_ == nullptr ? step * batch_ : first_[step];
  }

  // Returns the sequence of a row, 0 .. batch() - 1.
  int64_t sequence(int64_t row) const {
    return order_ == nullptr ? row : order_[row];
  }

  // Returns the position in [batch * time, ...] that a live row reads.
  int64_t position(int64_t row, int64_t step) const {
    const int64_t b = sequence(row);
    return b * time_ + (reverse_ ? length(b) - 1 - step : step);
  }

 private:
  int64_t batch_;
  int64_t time_;
  int64_t steps_;
  bool reverse_;
  // Null if all sequences have `time_` steps.
  const int32_t* lengths_ = nullptr;
  const int64_t* live_ = nullptr;
  const int64_t* first_ = nullptr;
  const int32_t* order_ = nullptr;
};

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_RAGGED_STEPS_H_
