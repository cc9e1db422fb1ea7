#include "experiments/run/status.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "gmock/gmock.h"
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

TEST(StatusTest, SaysHowMetricsAreComputedAndHowSureTheyAre) {
  EXPECT_EQ(StatusJson({.state = RunState::kFinished,
                        .metrics = {{"test/bleu", 38.5}},
                        .signatures = {{"test/bleu", "tok:13a"}},
                        .confidence = {{"test/bleu", {38.25, 1.5, 37, 40}},
                                       {"test/chrf", {60, 1, 59, 61}}}}),
            "{\"state\":\"finished\",\"step\":0,"
            "\"metrics\":{\"test/bleu\":38.5},\"weights_digest\":\"\","
            "\"signatures\":{\"test/bleu\":\"tok:13a\"},"
            "\"confidence\":{\"test/bleu\":{\"mean\":38.25,"
            "\"half_width\":1.5,\"low\":37,\"high\":40},"
            "\"test/chrf\":{\"mean\":60,\"half_width\":1,\"low\":59,"
            "\"high\":61}}}\n");
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

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<RunStatus> Read(absl::string_view text) {
  const std::string path = JoinPath(::testing::TempDir(), "status.json");
  EXPECT_THAT(WriteFileAtomically(path, text), IsOk());
  return ReadStatus(path);
}

TEST(ReadStatus, ReadsWhatARunWrites) {
  RunStatus written;
  written.state = RunState::kFinished;
  written.step = 12;
  written.metrics = {{"dev/loss", 0.125}, {"train/loss", NAN}};
  written.weights_digest = "ab12";
  const absl::StatusOr<RunStatus> read = Read(StatusJson(written));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->state, RunState::kFinished);
  EXPECT_EQ(read->step, 12);
  EXPECT_EQ(read->metrics.at("dev/loss"), 0.125);
  EXPECT_TRUE(std::isnan(read->metrics.at("train/loss")));
  EXPECT_EQ(read->weights_digest, "ab12");
}

TEST(ReadStatus, RefusesOtherTexts) {
  for (const char* text :
       {"", "[]", "{}", "{\"state\":1}",
        R"({"state":"odd","step":1,"metrics":{},"weights_digest":""})"}) {
    EXPECT_FALSE(Read(text).ok()) << text;
  }
  EXPECT_THAT(
      Read(R"({"state":"finished","step":1,
                              "metrics":{"dev/loss":"low"},
                              "weights_digest":""})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("status.json:2:53: error: dev/loss must be a number, "
                         "but is \"low\"")));
}

TEST(ReadStatus, NamesAMissingFile) {
  EXPECT_THAT(
      ReadStatus("no/such/status.json"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/status.json")));
}

}  // namespace
}  // namespace regard
