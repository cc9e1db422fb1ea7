#include "experiments/run/metrics_log.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class MetricsLogTest : public ::testing::Test {
 protected:
  MetricsLogTest() {
    FileOperations files;
    EXPECT_THAT(RemoveTree(path_, files), IsOk());
  }

  void Write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
  }

  std::string Text() { return ReadFile(path_, 1 << 20).value(); }

  // Appends two records of one step, like a trainer.
  void AppendStep(FileWriter& log, int64_t step) {
    EXPECT_THAT(
        log.Append(MetricsLine({.step = step,
                                .epoch = step / 2,
                                .metrics = {{"train/loss", 1.0 / step}}})),
        IsOk());
    EXPECT_THAT(
        log.Append(MetricsLine({.step = step,
                                .epoch = step / 2,
                                .metrics = {{"dev/loss", 2.0 / step}}})),
        IsOk());
  }

  std::string path_ = JoinPath(::testing::TempDir(), "metrics.jsonl");
};

TEST_F(MetricsLogTest, LinesAreAsDocumented) {
  EXPECT_EQ(MetricsLine(
                {.step = 10,
                 .epoch = 2,
                 .metrics = {{"train/loss", 0.5}, {"dev/loss", std::nan("")}}}),
            "{\"step\":10,\"epoch\":2,"
            "\"metrics\":{\"dev/loss\":null,\"train/loss\":0.5}}\n");
  EXPECT_EQ(MetricsLine({.seconds = 1.25}),
            "{\"step\":0,\"epoch\":0,\"metrics\":{},\"seconds\":1.25}\n");
}

TEST_F(MetricsLogTest, ReadsAppendedRecords) {
  auto log = FileWriter::Create(path_);
  ASSERT_THAT(log, IsOk());
  const double third = 1.0 / 3;
  ASSERT_THAT(log->Append(MetricsLine(
                  {.step = 1, .metrics = {{"a", third}, {"b", 7}}})),
              IsOk());
  ASSERT_THAT(log->Append(MetricsLine(
                  {.step = 1,
                   .epoch = 1,
                   .metrics = {{"a", std::numeric_limits<double>::infinity()}},
                   .seconds = 2.5})),
              IsOk());
  ASSERT_THAT(log->Sync(), IsOk());
  const auto records = ReadMetricsLog(path_);
  ASSERT_THAT(records, IsOk());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_THAT((*records)[0].metrics,
              ElementsAre(Pair("a", third), Pair("b", 7)));
  EXPECT_EQ((*records)[0].seconds, std::nullopt);
  EXPECT_EQ((*records)[1].epoch, 1);
  EXPECT_TRUE(std::isnan((*records)[1].metrics.at("a")));
  EXPECT_EQ((*records)[1].seconds, 2.5);
}

// Truncates the log at every byte after the checkpoint of step 2. The resumed
// log must equal the uninterrupted one.
TEST_F(MetricsLogTest, AResumedLogEqualsTheUninterruptedOne) {
  {
    auto log = FileWriter::Create(path_);
    for (int step = 1; step <= 2; ++step) AppendStep(*log, step);
  }
  const size_t checkpoint = Text().size();
  {
    auto log = ResumeMetricsLog(path_, 2);
    for (int step = 3; step <= 4; ++step) AppendStep(*log, step);
  }
  const std::string whole = Text();
  for (size_t size = checkpoint; size <= whole.size(); ++size) {
    SCOPED_TRACE(absl::StrCat(size, " bytes"));
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    {
      auto log = ResumeMetricsLog(path_, 2);
      ASSERT_THAT(log, IsOk());
      EXPECT_EQ(Text(), whole.substr(0, checkpoint));
      for (int step = 3; step <= 4; ++step) AppendStep(*log, step);
    }
    EXPECT_EQ(Text(), whole);
  }
}

TEST_F(MetricsLogTest, ADamagedLastLineIsCutOff) {
  const std::string good = MetricsLine({.step = 1});
  for (const std::string& bad : {std::string(40, '\0'), std::string("what")}) {
    std::ofstream(path_, std::ios::binary) << good << bad << "\n";
    ASSERT_THAT(ResumeMetricsLog(path_, 2), IsOk());
    EXPECT_EQ(Text(), good);
    std::ofstream(path_, std::ios::binary) << bad << "\n" << good;
    EXPECT_THAT(ResumeMetricsLog(path_, 2).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("metrics.jsonl:1:1: error: not JSON")));
  }
}

TEST_F(MetricsLogTest, ResumingAtStepZeroKeepsNothingLater) {
  {
    auto log = FileWriter::Create(path_);
    AppendStep(*log, 1);
  }
  ASSERT_THAT(ResumeMetricsLog(path_, 0), IsOk());
  EXPECT_EQ(Text(), "");
}

TEST_F(MetricsLogTest, ResumingWithoutALogStartsOne) {
  auto log = ResumeMetricsLog(path_, 5);
  ASSERT_THAT(log, IsOk());
  EXPECT_EQ(Text(), "");
}

TEST_F(MetricsLogTest, ATornLastLineIsLeftOut) {
  Write("{\"step\":1,\"epo");
  EXPECT_THAT(ReadMetricsLog(path_).value(), IsEmpty());
}

TEST_F(MetricsLogTest, AMalformedLineIsAnErrorWithItsNumber) {
  const std::string good = MetricsLine({.step = 3});
  for (const char* bad :
       {"", "7", "[]", "{}", "{\"step\":-1,\"epoch\":0,\"metrics\":{}}",
        "{\"step\":1,\"epoch\":0,\"metrics\":[]}",
        "{\"step\":1,\"epoch\":0,\"metrics\":{\"a\":\"b\"}}",
        "{\"step\":1.5,\"epoch\":0,\"metrics\":{}}",
        "{\"step\":18446744073709551615,\"epoch\":0,\"metrics\":{}}"}) {
    Write(absl::StrCat(good, bad, "\n"));
    EXPECT_THAT(ReadMetricsLog(path_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("metrics.jsonl:2:")))
        << bad;
  }
  Write(absl::StrCat(good, MetricsLine({.step = 2})));
  EXPECT_THAT(ReadMetricsLog(path_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("metrics.jsonl:2:9: error: step must be an "
                                 "integer from 3 to 9223372036854775807, but "
                                 "is 2")));
}

TEST_F(MetricsLogTest, AFullDiskIsAnError) {
  auto log = FileWriter::Create("/dev/full");
  if (!log.ok()) GTEST_SKIP() << "no /dev/full here";
  EXPECT_FALSE(log->Append(MetricsLine({.step = 1})).ok());
}

TEST_F(MetricsLogTest, RejectsAHugeLogWithoutReadingIt) {
  Write("");
  std::filesystem::resize_file(path_, (1 << 30) + 1);  // a sparse file
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("metrics.jsonl"));
  EXPECT_THAT(ReadMetricsLog(path_), refused);
  EXPECT_THAT(ResumeMetricsLog(path_, 0), refused);
}

TEST_F(MetricsLogTest, ErrorsNameTheFile) {
  std::ofstream(path_) << "what\nwhat\n";
  EXPECT_THAT(ReadMetricsLog(path_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("metrics.jsonl:1:1: error: ")));
  EXPECT_THAT(ResumeMetricsLog(path_, 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("metrics.jsonl:1:1: error: ")));
}

}  // namespace
}  // namespace regard
