// Shows how long work goes while it runs: one live line on a terminal, plain
// lines elsewhere.
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

// A line at the end of what a terminal shows, drawn again in its place.
class LiveLine {
 public:
  explicit LiveLine(ProgressOutput output);
  ~LiveLine() { Finish(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Whether there is a terminal, and so a line to draw.
  bool live() const { return live_; }
  // Whether a tenth of a second has passed since the last drawing.
  bool Due(absl::Time now) const { return now >= next_; }
  // `text` is printable; what is too long for the terminal is cut.
  void Draw(absl::string_view text, absl::Time now);
  // Writes a line of its own, on a terminal in place of the live line, which
  // comes back with the next drawing. `text` has no newline.
  void Message(absl::string_view text);
  // Leaves the line on the screen, and the cursor on a new one.
  void Finish();

 private:
  const ProgressOutput output_;
  const bool live_;
  bool on_screen_ = false;
  absl::Time next_ = absl::InfinitePast();
};

struct StepProgress {
  int64_t step = 0;  // counted from 1
  double loss = 0;
  int64_t work = 0;            // of this step: Model::CountWork()
  const char* work_unit = "";  // Model::work_unit()
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
};

class Progress {
 public:
  // `plain_interval`, in steps and at least 1, is for plain lines; the first
  // and last step are always written. `total_steps` is 0 where unknown.
  Progress(int64_t total_steps, int64_t plain_interval, ProgressOutput output);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Costs under 100 ns where nothing is drawn.
  void Update(const StepProgress& step);
  // As LiveLine's.
  void Message(absl::string_view text);
  // Leaves the last step's numbers on the screen and the cursor on a new line.
  // No call but the destructor follows.
  void Finish();

 private:
  void MeasureRates(absl::Time now);
  std::string Line() const;
  void WriteLastStep();

  const int64_t total_steps_;
  const int64_t plain_interval_;
  const ProgressOutput output_;
  LiveLine line_;

  StepProgress last_;  // of step 0 before the first
  bool last_step_written_ = true;
  double loss_sum_ = 0;    // of losses, weighted by decay
  double weight_sum_ = 0;  // of the weights
  int64_t work_ = 0;       // since rates were measured last
  int64_t steps_ = 0;      // likewise
  double work_per_second_ = 0;
  double steps_per_second_ = 0;
  absl::Time measured_;  // when rates were measured last
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PROGRESS_H_
