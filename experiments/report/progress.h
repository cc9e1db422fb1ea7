// Shows the progress of a long computation: a line that is redrawn in place on
// a terminal, and plain lines elsewhere.
#ifndef EXPERIMENTS_REPORT_PROGRESS_H_
#define EXPERIMENTS_REPORT_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace regard {

// The output of progress lines. Tests replace it.
struct ProgressOutput {
  std::function<void(absl::string_view)> write;
  std::function<absl::Time()> now;
  // Returns the number of columns of the terminal, or 0 if there is no
  // terminal, which selects plain lines. Called at every redraw, because the
  // user may resize the window.
  std::function<int()> width;
  bool color = false;
};

// Returns an output to standard error with the system clock. If TERM is "dumb",
// it uses plain lines. If NO_COLOR is set and not empty, it has no colour.
ProgressOutput ProgressToStandardError();

// A line at the bottom of the terminal that is redrawn in place.
class LiveLine {
 public:
  explicit LiveLine(ProgressOutput output);
  ~LiveLine() { Finish(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  // Whether there is a terminal on which to draw the line.
  bool live() const { return live_; }
  // Whether a tenth of a second has passed since the line was last drawn.
  bool IsDue(absl::Time now) const { return now >= next_; }
  // Draws `text`, which must be printable. Truncates it to the width of the
  // terminal.
  void Draw(absl::string_view text, absl::Time now);
  // Writes a separate line. On a terminal, it replaces the live line, which
  // reappears at the next Draw(). `text` must not contain a newline.
  void Message(absl::string_view text);
  // Leaves the line on the screen, and moves the cursor to a new line.
  void Finish();

 private:
  const ProgressOutput output_;
  const bool live_;
  bool on_screen_ = false;
  absl::Time next_ = absl::InfinitePast();
};

struct StepMeasurements {
  int64_t step = 0;  // counted from 1
  double loss = 0;
  int64_t work = 0;            // work in this step; see Model::CountWork()
  const char* work_unit = "";  // see Model::work_unit()
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
};

class Progress {
 public:
  // `plain_interval` is the number of steps between plain lines, at least 1.
  // The first and last step always have a line. `total_steps` is 0 if unknown.
  Progress(int64_t total_steps, int64_t plain_interval, ProgressOutput output);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Takes less than 100 ns if it does not draw.
  void Update(const StepMeasurements& step);
  // See LiveLine::Message().
  void Message(absl::string_view text);
  // Leaves the numbers of the last step on the screen, and moves the cursor to
  // a new line. Only the destructor may be called afterwards.
  void Finish();

 private:
  void MeasureRates(absl::Time now);
  std::string Line() const;
  void WriteLastStep();

  const int64_t total_steps_;
  const int64_t plain_interval_;
  const ProgressOutput output_;
  LiveLine line_;

  StepMeasurements last_;  // step 0 before the first Update()
  bool last_step_written_ = true;
  double loss_sum_ = 0;    // the sum of decayed losses
  double weight_sum_ = 0;  // the sum of their decay factors
  int64_t work_ = 0;       // work since the last measurement of rates
  int64_t steps_ = 0;      // steps since the last measurement of rates
  double work_per_second_ = 0;
  double steps_per_second_ = 0;
  absl::Time measured_;  // the time of the last measurement of rates
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PROGRESS_H_
