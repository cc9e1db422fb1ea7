// Shows how training goes while it runs: one live line on a terminal, a plain
// line every so many steps elsewhere.
#ifndef EXPERIMENTS_REPORT_PROGRESS_H_
#define EXPERIMENTS_REPORT_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace regard {

// Where progress goes. Tests pass their own.
struct ProgressOutput {
  std::function<void(absl::string_view)> write;
  std::function<absl::Time()> now;
  // Columns of the terminal, asked at every redraw, so that a resized window
  // is noticed; 0 where there is none, which chooses plain lines.
  std::function<int()> width;
  bool color = false;
};

// Standard error and the wall clock. A terminal with TERM=dumb counts as none;
// NO_COLOR, set and not empty, turns colour off.
ProgressOutput ProgressToStandardError();

// What one training step did.
struct StepProgress {
  int64_t step = 0;  // counted from 1
  double loss = 0;
  int64_t tokens = 0;  // of this step
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
};

class Progress {
 public:
  // `plain_interval` is in steps, at least 1, and matters off a terminal alone;
  // the first and the last step are always written. `total_steps` may be 0 for
  // unknown.
  Progress(int64_t total_steps, int64_t plain_interval, ProgressOutput output);
  // As Finish().
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws at most ten times a second; costs under 100 ns otherwise.
  void Update(const StepProgress& step);
  // A line of its own, such as the result of an evaluation; the live line
  // continues under it. `text` has no newline.
  void Message(absl::string_view text);
  // Leaves the last step's numbers on the screen and the cursor on a new line.
  // No call but the destructor follows.
  void Finish();

 private:
  void MeasureRates(absl::Time now);
  std::string Line() const;
  void Redraw(absl::Time now);

  const int64_t total_steps_;
  const int64_t plain_interval_;
  const ProgressOutput output_;
  const bool live_;

  StepProgress last_;
  bool any_step_ = false;
  bool line_on_screen_ = false;
  bool last_step_written_ = false;
  double loss_sum_ = 0;    // of losses, weighted by decay
  double weight_sum_ = 0;  // of the weights
  int64_t tokens_ = 0;     // since rates were measured last
  int64_t steps_ = 0;      // likewise
  double tokens_per_second_ = 0;
  double steps_per_second_ = 0;
  absl::Time measured_;  // when rates were measured last
  absl::Time next_redraw_;
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PROGRESS_H_
