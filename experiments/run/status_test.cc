#include "experiments/run/status.h"

#include <cmath>
#include <string>

#include "experiments/run/file.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

TEST(StatusTest, TextIsAsDocumented) {
  EXPECT_EQ(
      StatusJson({.state = RunState::kFinished,
                  .step = 120,
                  .metrics = {{"train/loss", 0.25}, {"dev/bleu", std::nan("")}},
                  .weights_digest = "00ff"}),
      "{\"state\":\"finished\",\"step\":120,"
      "\"metrics\":{\"dev/bleu\":null,\"train/loss\":0.25},"
      "\"weights_digest\":\"00ff\"}\n");
}

TEST(StatusTest, EachStateHasItsName) {
  const auto text = [](RunState state) {
    const std::string json = StatusJson({.state = state});
    return json.substr(0, json.find(','));
  };
  EXPECT_EQ(text(RunState::kRunning), "{\"state\":\"running\"");
  EXPECT_EQ(text(RunState::kInterrupted), "{\"state\":\"interrupted\"");
  EXPECT_EQ(text(RunState::kFailed), "{\"state\":\"failed\"");
}

TEST(StatusTest, AnEarlierStatusIsReplaced) {
  const std::string folder = ::testing::TempDir();
  ASSERT_THAT(WriteStatus(folder, {.step = 1}), IsOk());
  ASSERT_THAT(WriteStatus(folder, {.step = 2}), IsOk());
  EXPECT_EQ(ReadFile(JoinPath(folder, "status.json"), 1000).value(),
            StatusJson({.step = 2}));
}

}  // namespace
}  // namespace regard
