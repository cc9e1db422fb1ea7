#include "autodiff/testing/interleaved_times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

double clock_seconds = 0;

double Clock() { return clock_seconds; }

// The time of a step doubles in the second of three rounds, for both workloads.
// The ratio of the workloads must not change.
TEST(TimeInterleaved, ComparesWithinARound) {
  std::vector<std::string> order;
  double slowness = 1;
  const auto step = [&](const char* name, double seconds) {
    return [&order, &slowness, name, seconds] {
      order.push_back(name);
      // Each workload runs 2 steps before the rounds. A round runs the first
      // workload twice and the second once.
      slowness = order.size() > 7 && order.size() <= 10 ? 2 : 1;
      clock_seconds += slowness * seconds;
    };
  };
  const std::vector<WorkloadTime> times = TimeInterleaved(
      {step("a", 0.25), step("b", 0.5)}, /*baseline=*/0, /*rounds=*/3,
      /*seconds=*/0.5, &Clock);
  EXPECT_THAT(order, ElementsAre("a", "a", "b", "b", "a", "a", "b", "a", "a",
                                 "b", "a", "a", "b"));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].seconds, 0.25);
  EXPECT_EQ(times[1].seconds, 0.5);
  EXPECT_EQ(times[1].RatioText(), "2.00 (2.00 - 2.00)");
}

TEST(TimeInterleaved, GivesTheQuartilesOfTheRatios) {
  int calls = 0;
  const std::vector<WorkloadTime> times =
      TimeInterleaved({[] { clock_seconds += 1; },
                       // The second workload takes 1, 2, ..., 5 seconds in the
                       // five rounds.
                       [&] { clock_seconds += std::max(1, ++calls - 2); }},
                      /*baseline=*/0, /*rounds=*/5, /*seconds=*/0, &Clock);
  EXPECT_EQ(times[1].RatioText(), "3.00 (2.00 - 4.00)");
}

TEST(RoundsFromArguments, TakesOnePositiveNumber) {
  char program[] = "program";
  char seven[] = "7";
  char none[] = "0";
  char word[] = "many";
  char* arguments[] = {program, seven, word};
  EXPECT_EQ(RoundsFromArguments(1, arguments, 3), 3);
  EXPECT_EQ(RoundsFromArguments(2, arguments, 3), 7);
  EXPECT_EQ(RoundsFromArguments(3, arguments, 3), 0);
  for (char* const wrong : {none, word}) {
    arguments[1] = wrong;
    EXPECT_EQ(RoundsFromArguments(2, arguments, 3), 0);
  }
}

}  // namespace
}  // namespace regard
