// The choices of a search at each step, from which the ids of its hypotheses
// are read.
#ifndef SEQ2SEQ_DECODING_SEARCH_TRACE_H_
#define SEQ2SEQ_DECODING_SEARCH_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// A hypothesis, given by its last id and by the row from which this id was
// chosen.
struct TracedHypothesis {
  double log_probability;
  int32_t row;
  int32_t last;
  int32_t sample;  // index among the source's samples
  // Whether the hypothesis had to end although another id was likelier.
  bool cut = false;
};

// The results of one step.
struct StepTrace {
  const float* weights = nullptr;  // [rows, time]; null without attention
  // The row that each row of the next step continues.
  absl::Span<int32_t> rows = {};
  // The id that each row of the next step adds.
  absl::Span<int32_t> ids = {};
};

// The steps of a search. Following rows backwards through the steps gives the
// ids of a hypothesis.
class SearchTrace {
 public:
  void Reserve(int64_t steps) { steps_.reserve(static_cast<size_t>(steps)); }
  void BeginStep() { steps_.emplace_back(); }

  // The index of the current step.
  int64_t step() const { return std::ssize(steps_) - 1; }
  StepTrace& last() { return steps_.back(); }

  const StepTrace& operator[](int64_t step) const {
    return steps_[static_cast<size_t>(step)];
  }

  // Calls visit(step, row, id) for each choice of a hypothesis, from `step`
  // back to `first`, until visit() returns false.
  template <typename F>
  void TraceBack(const TracedHypothesis& partial, int64_t step, int64_t first,
                 F visit) const {
    int32_t row = partial.row;
    int32_t id = partial.last;
    for (; step >= first && visit(step, row, id) && step > first; --step) {
      const StepTrace& before = (*this)[step - 1];
      id = before.ids[static_cast<size_t>(row)];
      row = before.rows[static_cast<size_t>(row)];
    }
  }

  // The number of keys of the alignment; 0 without an alignment.
  int64_t time() const { return time_; }
  void set_time(int64_t time) { time_ = time; }

 private:
  std::vector<StepTrace> steps_;
  int64_t time_ = 0;
};

// A hypothesis that is complete or cannot continue.
struct EndedHypothesis {
  TracedHypothesis partial;
  int64_t length;  // number of choices
  double score;
  bool complete;
  bool finished;  // whether the last choice is the ending id
};

// Returns whether `a` comes before `b`. Complete hypotheses come first, then
// hypotheses with greater scores, then hypotheses that were found earlier.
bool IsBetter(const EndedHypothesis& a, const EndedHypothesis& b);

// Keeps the best hypotheses that ended, in the order of IsBetter().
class BestEndedHypotheses {
 public:
  BestEndedHypotheses() = default;
  // Keeps as many hypotheses as fit in `storage`, which must outlive this
  // object.
  explicit BestEndedHypotheses(absl::Span<EndedHypothesis> storage)
      : storage_(storage) {}

  void Add(const EndedHypothesis& ended);

  bool full() const { return count_ == storage_.size(); }
  absl::Span<const EndedHypothesis> best() const {
    return storage_.first(count_);
  }

 private:
  absl::Span<EndedHypothesis> storage_;
  size_t count_ = 0;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SEARCH_TRACE_H_
