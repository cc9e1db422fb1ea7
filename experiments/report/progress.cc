#include "experiments/report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "experiments/report/terminal_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr absl::Duration kRedrawInterval = absl::Milliseconds(100);
// The weight of each loss in the average, relative to the weight of the next
// loss.
constexpr double kLossDecay = 0.98;
// The minimum time between measurements of rates.
constexpr absl::Duration kRateInterval = absl::Milliseconds(500);
// The time constant of the exponential average of rates.
constexpr absl::Duration kRateMemory = absl::Seconds(3);

constexpr absl::string_view kToLineStart = "\r";
constexpr absl::string_view kEraseToEnd = "\x1b[K";
constexpr absl::string_view kDim = "\x1b[2m";
constexpr absl::string_view kPlain = "\x1b[0m";

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Formats a duration as "0:07", "12:31" or "3:05:00".
std::string HoursMinutesSeconds(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return absl::StrFormat("%d:%02d", minutes, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", minutes / 60, minutes % 60,
                         seconds % 60);
}

// Formats a rate as "870", "12.3k" or "4.1M".
std::string ShortNumber(double rate) {
  if (rate < 1e3) return absl::StrFormat("%.0f", rate);
  if (rate < 1e6) return absl::StrFormat("%.1fk", rate / 1e3);
  return absl::StrFormat("%.1fM", rate / 1e6);
}

}  // namespace

ProgressOutput ProgressToStandardError() {
  ProgressOutput output;
  output.write = [](absl::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  output.now = [] { return absl::Now(); };
  const char* term = std::getenv("TERM");
  const bool smart = term != nullptr && absl::string_view(term) != "dumb";
  if (smart && isatty(STDERR_FILENO) == 1) {
    output.width = [] { return TerminalWidth(STDERR_FILENO); };
    output.color = !IsSet("NO_COLOR");
  } else {
    output.width = [] { return 0; };
  }
  return output;
}

LiveLine::LiveLine(ProgressOutput output)
    : output_(std::move(output)), live_(output_.width() > 0) {}

void LiveLine::Draw(absl::string_view text, absl::Time now) {
  // Leaves the last column empty, because some terminals wrap there.
  const int width = std::max(output_.width() - 1, 1);
  std::string line = CutToWidth(text, width, "~");
  if (output_.color) line = absl::StrCat(kDim, line, kPlain);
  output_.write(absl::StrCat(kToLineStart, line, kEraseToEnd));
  on_screen_ = true;
  next_ = now + kRedrawInterval;
}

void LiveLine::Message(absl::string_view text) {
  const std::string printable = PrintableText(text);
  output_.write(live_ ? absl::StrCat(kToLineStart, printable, kEraseToEnd, "\n")
                      : absl::StrCat(printable, "\n"));
  on_screen_ = false;
}

void LiveLine::Finish() {
  if (on_screen_) output_.write("\n");
  on_screen_ = false;
}

Progress::Progress(int64_t total_steps, int64_t plain_interval,
                   ProgressOutput output)
    : total_steps_(total_steps),
      plain_interval_(plain_interval),
      output_(output),
      line_(std::move(output)),
      measured_(output_.now()) {
  REGARD_CHECK_GE(total_steps, 0);
  REGARD_CHECK_GE(plain_interval, 1);
}

void Progress::Update(const StepMeasurements& step) {
  const bool first = last_.step == 0;
  last_ = step;
  last_step_written_ = false;
  loss_sum_ = kLossDecay * loss_sum_ + step.loss;
  weight_sum_ = kLossDecay * weight_sum_ + 1;
  work_ += step.work;
  ++steps_;
  const bool due = line_.live() ? line_.IsDue(output_.now())
                                : first || step.step % plain_interval_ == 0 ||
                                      step.step == total_steps_;
  if (due) WriteLastStep();
}

void Progress::Message(absl::string_view text) {
  line_.Message(text);
  if (line_.live() && last_.step > 0) WriteLastStep();
}

void Progress::Finish() {
  if (!last_step_written_) WriteLastStep();
  line_.Finish();
}

void Progress::MeasureRates(absl::Time now) {
  const absl::Duration elapsed = now - measured_;
  if (elapsed < kRateInterval) return;
  // The first measurement has no earlier average.
  const double kept = steps_per_second_ == 0
                          ? 0
                          : std::exp(-absl::FDivDuration(elapsed, kRateMemory));
  const double per_second = (1 - kept) / absl::ToDoubleSeconds(elapsed);
  work_per_second_ =
      kept * work_per_second_ + per_second * static_cast<double>(work_);
  steps_per_second_ =
      kept * steps_per_second_ + per_second * static_cast<double>(steps_);
  work_ = 0;
  steps_ = 0;
  measured_ = now;
}

std::string Progress::Line() const {
  std::string line = absl::StrCat("step ", last_.step);
  if (total_steps_ > 0) absl::StrAppend(&line, "/", total_steps_);
  absl::StrAppendFormat(&line, "  loss %.4f", loss_sum_ / weight_sum_);
  if (work_per_second_ > 0) {
    absl::StrAppend(&line, "  ", ShortNumber(work_per_second_), " ",
                    last_.work_unit, "/s");
  }
  absl::StrAppendFormat(&line, "  lr %.3g  grad %.3g", last_.learning_rate,
                        last_.gradient_norm);
  const int64_t steps_left = total_steps_ - last_.step;
  if (steps_left > 0 && steps_per_second_ > 0) {
    const double seconds = static_cast<double>(steps_left) / steps_per_second_;
    absl::StrAppend(&line, "  left ",
                    HoursMinutesSeconds(absl::Seconds(std::ceil(seconds))));
  }
  return line;
}

void Progress::WriteLastStep() {
  const absl::Time now = output_.now();
  MeasureRates(now);
  if (line_.live()) {
    line_.Draw(Line(), now);
  } else {
    output_.write(absl::StrCat(Line(), "\n"));
  }
  last_step_written_ = true;
}

}  // namespace regard
