#include "autodiff/profile.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Two products of [2, 3] and [3, 4] in a series of scopes.
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
  // A product for each of two gradients.
  EXPECT_EQ(entries.at("layers/MatMul backward").flops, 2 * forward.flops);
  EXPECT_EQ(entries.at("layers/Sum forward").flops, 0);
  double seconds = 0;
  for (const auto& [name, entry] : entries) seconds += entry.seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, took.count());
}

TEST(TapeProfileTest, ATableHasTheSumsOfAll) {
  Tape<float> tape;
  TapeProfile profile;
  tape.set_observer(&profile);
  Step(tape);
  const std::vector<std::string> lines =
      absl::StrSplit(ProfileText({&profile, &profile}, 1e-6, 3), '\n');
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_EQ(lines[0],
            "operation                                                     "
            "calls        ms   share  GFLOP/s   peak");
  // Longest first.
  double before = 100;
  for (size_t i = 1; i < 9; ++i) {
    const double share = std::stod(lines[i].substr(78, 6));
    EXPECT_LE(share, before) << lines[i];
    before = share;
  }
  EXPECT_THAT(lines, Contains(StartsWith("layers/MatMul forward              "
                                         "                               4 ")));
  EXPECT_THAT(lines[9], StartsWith("all operations                           "
                                   "                        28 "));
  EXPECT_THAT(lines[9], HasSubstr(" 100.0% "));
  // 288 operations a profile.
  EXPECT_THAT(lines[10],
              StartsWith("steps took 0.000 s on 3 threads, 0.6 GFLOP/s in "
                         "products; the peak of a core, measured now, is "));
}

}  // namespace
}  // namespace regard
