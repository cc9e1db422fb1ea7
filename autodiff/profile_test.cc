#include "autodiff/profile.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

// Computes two products of [2, 3] and [3, 4] in a series of scopes.
void Step(Tape<float>& tape) {
  tape.Reset();
  const Var<float> a = tape.Input({2, 3}, std::vector<float>(6, 1));
  const Var<float> b = tape.Input({3, 4}, std::vector<float>(12, 1));
  Var<float> sum = Sum(a);
  for (int i = 0; i < 2; ++i) {
    const NameScope<float> scope(tape, "layers", i);
    sum = sum + Sum(MatMul(a, b));
  }
  tape.Backward(sum);
}

TEST(TapeProfileTest, CountsCallsAndOperationsByName) {
  Tape<float> tape;
  TapeProfile profile;
  tape.set_observer(&profile);
  const auto begin = std::chrono::steady_clock::now();
  Step(tape);
  Step(tape);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  const std::map<std::string, TapeProfile::Entry>& entries = profile.entries();
  EXPECT_THAT(
      entries,
      ElementsAre(Key("Sum backward"), Key("Sum forward"),
                  Key("layers/Add backward"), Key("layers/Add forward"),
                  Key("layers/MatMul backward"), Key("layers/MatMul forward"),
                  Key("layers/Sum backward"), Key("layers/Sum forward")));
  const TapeProfile::Entry& forward = entries.at("layers/MatMul forward");
  EXPECT_EQ(forward.calls, 4);
  EXPECT_EQ(forward.flops, 4 * 2 * 2 * 3 * 4);
  // The backward pass computes one product for each of two gradients.
  EXPECT_EQ(entries.at("layers/MatMul backward").flops, 2 * forward.flops);
  EXPECT_EQ(entries.at("layers/Sum forward").flops, 0);
  double seconds = 0;
  for (const auto& [name, entry] : entries) seconds += entry.seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, took.count());
}

// A clock that advances by half a millisecond at each reading.
std::chrono::steady_clock::time_point HalfMilliseconds() {
  static std::chrono::steady_clock::time_point now;
  return now += std::chrono::microseconds(500);
}

// Profiles a product of [50, 40] and [40, 50], its two gradients, and two sums.
TEST(TapeProfileTest, TheTableHasSumsOverTapesLongestFirst) {
  Tape<float> tape;
  TapeProfile profile(&HalfMilliseconds);
  tape.set_observer(&profile);
  tape.Reset();
  const Var<float> a = tape.Input({50, 40}, std::vector<float>(2000, 1));
  const Var<float> b = tape.Input({40, 50}, std::vector<float>(2000, 1));
  const NameScope<float> scope(tape, "layers", 1);
  tape.Backward(Sum(MatMul(a, b)) + Sum(a));
  EXPECT_EQ(
      ProfileText({&profile, &profile}, 1e-2, 3, 1e9),
      "operation                                                     calls"
      "        ms   share  GFLOP/s   peak\n"
      "layers/Sum backward                                               4"
      "       2.0   25.0%      0.0     0%\n"
      "layers/Sum forward                                                4"
      "       2.0   25.0%      0.0     0%\n"
      "layers/Add backward                                               2"
      "       1.0   12.5%      0.0     0%\n"
      "layers/Add forward                                                2"
      "       1.0   12.5%      0.0     0%\n"
      "layers/MatMul backward                                            2"
      "       1.0   12.5%      0.8    80%\n"
      "layers/MatMul forward                                             2"
      "       1.0   12.5%      0.4    40%\n"
      "all operations                                                   16"
      "       8.0  100.0%      0.1    15%\n"
      "steps took 0.010 s on 3 threads, 0.1 GFLOP/s in products; the peak of "
      "a core, measured now, is 1.0 GFLOP/s\n");
}

TEST(MeasuredPeakFlopsTest, IsPlausibleForACore) {
  EXPECT_GT(MeasuredPeakFlops(), 1e7);
  EXPECT_LT(MeasuredPeakFlops(), 1e13);
}

}  // namespace
}  // namespace regard
