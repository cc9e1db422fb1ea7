#include "experiments/sweep/sweep_table.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

SweepTable TwoArms() {
  return {.arms = {"additive", "dot"},
          .seeds = {"0", "1"},
          .cells = {{"0.93", "step 40"}, {"failed", "."}},
          .summary = "2 of 4 runs ended, 1 in training"};
}

TEST(SweepTableTextTest, HasARowForEachArm) {
  EXPECT_EQ(SweepTableText(TwoArms(), 80, 24),
            "arm       seed 0  seed 1\n"
            "additive  0.93    step 40\n"
            "dot       failed  .\n"
            "2 of 4 runs ended, 1 in training\n");
}

TEST(SweepTableTextTest, FitsTheTerminal) {
  SweepTable table = TwoArms();
  table.arms.push_back("general");
  table.cells.push_back({".", "."});
  EXPECT_EQ(SweepTableText(table, 16, 6),
            "arm       seed 0\n"
            "additive  0.93  \n"
            "dot       failed\n"
            "and 1 more arms\n"
            "2 of 4 runs ende\n");
}

TEST(LiveTableTest, DrawsInPlace) {
  std::string screen;
  LiveTable table(
      {.write = [&](absl::string_view text) { absl::StrAppend(&screen, text); },
       .now = [] { return absl::UnixEpoch(); },
       .width = [] { return 80; }});
  EXPECT_TRUE(table.live());
  table.Draw(TwoArms());
  const std::string first = screen;
  table.Draw(TwoArms());
  EXPECT_EQ(screen, absl::StrCat(first, "\x1b[4A\x1b[J", first));
  screen.clear();
  table.Message("failed dot/seed-0");
  EXPECT_EQ(screen, "\x1b[4A\x1b[Jfailed dot/seed-0\n");
}

}  // namespace
}  // namespace regard
