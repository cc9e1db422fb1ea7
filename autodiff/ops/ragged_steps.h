// The order in which a recurrent network reads a batch of sequences.
#ifndef AUTODIFF_OPS_RAGGED_STEPS_H_
#define AUTODIFF_OPS_RAGGED_STEPS_H_

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// Step s of sequence b reads position s, or length - 1 - s in reverse, so each
// sequence is read from its own end. Positions from the length on are never
// read. Trivially copyable; the lengths are stored in the arena.
class RaggedSteps {
 public:
  // `lengths` [batch], each in 0 .. time; empty: all are `time`.
  RaggedSteps(int64_t batch, int64_t time, absl::Span<const int32_t> lengths,
              bool reverse, Arena& arena)
      : batch_(batch), time_(time), reverse_(reverse), lengths_(nullptr) {
    if (lengths.empty()) return;
    REGARD_CHECK_EQ(static_cast<int64_t>(lengths.size()), batch);
    int32_t* const copy = arena.New<int32_t>(batch);
    for (int64_t b = 0; b < batch; ++b) {
      REGARD_CHECK(lengths[b] >= 0 && lengths[b] <= time)
          << "length " << lengths[b] << " of " << time << " steps";
      copy[b] = lengths[b];
    }
    lengths_ = copy;
  }

  int64_t batch() const { return batch_; }
  int64_t time() const { return time_; }
  int64_t length(int64_t b) const {
    return lengths_ == nullptr ? time_ : lengths_[b];
  }

  // Steps of the longest sequence.
  int64_t steps() const {
    if (lengths_ == nullptr) return batch_ == 0 ? 0 : time_;
    return batch_ == 0 ? 0 : *std::max_element(lengths_, lengths_ + batch_);
  }

  bool active(int64_t b, int64_t step) const { return step < length(b); }

  // Row of [batch * time, ...] that sequence b reads in an active step.
  int64_t row(int64_t b, int64_t step) const {
    return b * time_ + (reverse_ ? length(b) - 1 - step : step);
  }

 private:
  int64_t batch_;
  int64_t time_;
  bool reverse_;
  const int32_t* lengths_;
};

}  // namespace regard

#endif  // AUTODIFF_OPS_RAGGED_STEPS_H_
