#include "experiments/report/progress.h"

#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// An output that records what is written, with or without a terminal. Its clock
// changes only when a test sets it.
struct Screen {
  std::string written = {};
  absl::Time now = absl::UnixEpoch();
  int width = 0;
  bool color = false;

  ProgressOutput output() {
    return {.write =
                [this](absl::string_view text) {
                  written.append(text.data(), text.size());
                },
            .now = [this] { return now; },
            .width = [this] { return width; },
            .color = color};
  }
  std::string Take() {
    std::string taken;
    taken.swap(written);
    return taken;
  }
};

StepMeasurements Step(int64_t step, double loss) {
  return {.step = step,
          .loss = loss,
          .work = 100,
          .work_unit = "tok",
          .learning_rate = 0.005,
          .gradient_norm = 1.25};
}

TEST(ProgressTest, WritesPlainLinesAtTheIntervalOffATerminal) {
  Screen screen;
  Progress progress(10, 4, screen.output());
  for (int step = 1; step <= 10; ++step) progress.Update(Step(step, 2.0));
  progress.Finish();
  // The clock does not advance, so no line has a rate.
  EXPECT_EQ(screen.written,
            "step 1/10  loss 2.0000  lr 0.005  grad 1.25\n"
            "step 4/10  loss 2.0000  lr 0.005  grad 1.25\n"
            "step 8/10  loss 2.0000  lr 0.005  grad 1.25\n"
            "step 10/10  loss 2.0000  lr 0.005  grad 1.25\n");
}

TEST(ProgressTest, WritesTheLastPlainLineOfAnInterruptedRun) {
  Screen screen;
  {
    Progress progress(10, 4, screen.output());
    for (int step = 1; step <= 3; ++step) progress.Update(Step(step, 2.0));
    screen.Take();
  }
  EXPECT_EQ(screen.written, "step 3/10  loss 2.0000  lr 0.005  grad 1.25\n");
}

TEST(ProgressTest, ShowsRatesAndTheTimeLeft) {
  Screen screen;
  Progress progress(1000, 10, screen.output());
  for (int step = 1; step <= 10; ++step) {
    screen.now += absl::Milliseconds(500);
    progress.Update(Step(step, 2.0));
  }
  // There are two steps of 100 tokens per second, and 990 steps are left.
  EXPECT_THAT(screen.written, EndsWith("step 10/1000  loss 2.0000  200 tok/s  "
                                       "lr 0.005  grad 1.25  left 8:15\n"));
}

TEST(ProgressTest, ShortensRatesAndShowsHours) {
  const auto line_of = [](int64_t tokens, int64_t steps) {
    Screen screen;
    Progress progress(steps, 1, screen.output());
    screen.now += absl::Seconds(1);
    StepMeasurements step = Step(1, 2.0);
    step.work = tokens;
    progress.Update(step);
    return screen.Take();
  };
  EXPECT_THAT(line_of(999, 60), HasSubstr("  999 tok/s "));
  EXPECT_THAT(line_of(1000, 60), HasSubstr("  1.0k tok/s "));
  EXPECT_THAT(line_of(999'900, 60), HasSubstr("  999.9k tok/s "));
  EXPECT_THAT(line_of(1'250'000, 60), HasSubstr("  1.2M tok/s "));
  EXPECT_THAT(line_of(1, 60), EndsWith("  left 0:59\n"));
  EXPECT_THAT(line_of(1, 3600), EndsWith("  left 59:59\n"));
  EXPECT_THAT(line_of(1, 3601), EndsWith("  left 1:00:00\n"));
  EXPECT_THAT(line_of(1, 1 + 3 * 3600 + 5 * 60 + 7),
              EndsWith("  left 3:05:07\n"));
}

TEST(ProgressTest, ShowsNoRateBeforeItCanBeMeasured) {
  Screen screen;
  Progress progress(1000, 1, screen.output());
  screen.now += absl::Microseconds(1);
  progress.Update(Step(1, 2.0));
  EXPECT_THAT(screen.Take(), Not(HasSubstr("tok/s")));
  screen.now += absl::Seconds(1);
  progress.Update(Step(2, 2.0));
  // The rate must include both steps, over the whole time.
  EXPECT_THAT(screen.Take(), HasSubstr("  200 tok/s"));
}

TEST(ProgressTest, FollowsAChangeOfSpeed) {
  Screen screen;
  Progress progress(1000, 1, screen.output());
  screen.now += absl::Seconds(1);
  progress.Update(Step(1, 2.0));
  screen.Take();
  screen.now += absl::Milliseconds(500);
  progress.Update(Step(2, 2.0));
  // The rate was 100, then 200 tokens per second for half a second. The weight
  // of the earlier rate is exp(-1/6) = 0.846.
  EXPECT_THAT(screen.Take(), HasSubstr("  115 tok/s"));
}

TEST(ProgressTest, SmoothsTheLoss) {
  Screen screen;
  Progress progress(2, 1, screen.output());
  progress.Update(Step(1, 1.0));
  progress.Update(Step(2, 3.0));
  // The second average is (0.98 * 1 + 3) / (0.98 + 1) = 2.0101.
  EXPECT_THAT(screen.written, HasSubstr("loss 1.0000"));
  EXPECT_THAT(screen.written, HasSubstr("loss 2.0101"));
}

TEST(ProgressTest, RedrawsOneLineAtMostTenTimesASecond) {
  Screen screen{.width = 100};
  Progress progress(100, 1, screen.output());
  progress.Update(Step(1, 2.0));
  EXPECT_EQ(screen.Take(),
            "\rstep 1/100  loss 2.0000  lr 0.005  grad 1.25\x1b[K");
  screen.now += absl::Milliseconds(99);
  progress.Update(Step(2, 2.0));
  EXPECT_THAT(screen.Take(), IsEmpty());
  screen.now += absl::Milliseconds(1);
  progress.Update(Step(3, 2.0));
  EXPECT_THAT(screen.Take(), StartsWith("\rstep 3/100"));
}

TEST(ProgressTest, LeavesTheLastStepOnTheScreen) {
  Screen screen{.width = 100};
  Progress progress(100, 1, screen.output());
  progress.Update(Step(1, 2.0));
  progress.Update(Step(2, 2.0));
  screen.Take();
  progress.Finish();
  EXPECT_EQ(screen.Take(),
            "\rstep 2/100  loss 2.0000  lr 0.005  grad 1.25\x1b[K\n");
  progress.Finish();
  EXPECT_THAT(screen.Take(), IsEmpty());
}

TEST(ProgressTest, FollowsTheWindowsWidth) {
  Screen screen{.width = 100};
  Progress progress(100, 1, screen.output());
  progress.Update(Step(1, 2.0));
  screen.Take();
  screen.width = 12;
  screen.now += absl::Seconds(1);
  progress.Update(Step(2, 2.0));
  EXPECT_EQ(screen.Take(), "\rstep 2/100~\x1b[K");
}

TEST(ProgressTest, PutsAMessageAboveTheLiveLine) {
  Screen screen{.width = 100};
  Progress progress(0, 1, screen.output());
  progress.Message("before");
  EXPECT_EQ(screen.Take(), "\rbefore\x1b[K\n");
  progress.Update(Step(1, 2.0));
  screen.Take();
  progress.Message("dev/loss 1.5\x1b[2J");
  EXPECT_EQ(screen.Take(),
            "\rdev/loss 1.5[2J\x1b[K\n"
            "\rstep 1  loss 2.0000  lr 0.005  grad 1.25\x1b[K");
}

TEST(ProgressTest, WritesAMessageAsItIsOffATerminal) {
  Screen screen;
  Progress progress(10, 1, screen.output());
  progress.Message("dev/loss 1.5");
  progress.Finish();
  EXPECT_EQ(screen.written, "dev/loss 1.5\n");
}

TEST(ProgressTest, ColorsOnlyWhereAllowed) {
  Screen plain{.width = 100};
  Screen color{.width = 100, .color = true};
  Progress(10, 1, plain.output()).Update(Step(1, 2.0));
  Progress(10, 1, color.output()).Update(Step(1, 2.0));
  EXPECT_THAT(plain.written, Not(HasSubstr("\x1b[2m")));
  EXPECT_THAT(color.written, HasSubstr("\x1b[2mstep 1/10"));
}

TEST(ProgressToStandardErrorTest, TreatsADumbTerminalAsNone) {
  setenv("TERM", "dumb", 1);
  EXPECT_EQ(ProgressToStandardError().width(), 0);
  EXPECT_FALSE(ProgressToStandardError().color);
}

TEST(LiveLineTest, IsDrawnInItsPlaceAndLeftThere) {
  Screen screen = {.width = 20};
  {
    LiveLine line(screen.output());
    EXPECT_TRUE(line.live());
    EXPECT_TRUE(line.IsDue(screen.now));
    line.Draw("a line of work in progress", screen.now);
    EXPECT_EQ(screen.Take(), "\ra line of work in ~\x1b[K");
    EXPECT_FALSE(line.IsDue(screen.now));
    EXPECT_TRUE(line.IsDue(screen.now + absl::Milliseconds(100)));
    line.Message("a note");
    EXPECT_EQ(screen.Take(), "\ra note\x1b[K\n");
    line.Draw("done", screen.now);
    screen.Take();
  }
  EXPECT_EQ(screen.written, "\n");
}

TEST(LiveLineTest, WritesOnlyMessagesOffATerminal) {
  Screen screen;
  {
    LiveLine line(screen.output());
    EXPECT_FALSE(line.live());
    line.Message("a note");
  }
  EXPECT_EQ(screen.written, "a note\n");
}

}  // namespace
}  // namespace regard
