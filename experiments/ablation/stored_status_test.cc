#include "experiments/ablation/stored_status.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/run/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ParseStatus, ReadsWhatARunWrites) {
  RunStatus written;
  written.state = RunState::kFinished;
  written.step = 12;
  written.metrics = {{"dev/loss", 0.125}, {"train/loss", NAN}};
  written.weights_digest = "ab12";
  const absl::StatusOr<StoredStatus> read = ParseStatus(StatusJson(written));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->state, "finished");
  EXPECT_EQ(read->step, 12);
  EXPECT_EQ(read->metrics.at("dev/loss"), 0.125);
  EXPECT_TRUE(std::isnan(read->metrics.at("train/loss")));
  EXPECT_EQ(read->weights_digest, "ab12");
}

TEST(ParseStatus, RefusesOtherTexts) {
  for (const char* text : {"", "[]", "{}", "{\"state\":1}"}) {
    EXPECT_FALSE(ParseStatus(text).ok()) << text;
  }
  EXPECT_THAT(
      ParseStatus(R"({"state":"finished","step":1,
                              "metrics":{"dev/loss":"low"},
                              "weights_digest":""})"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dev/loss")));
}

TEST(ReadStatus, NamesAFileThatIsNotThere) {
  EXPECT_THAT(
      ReadStatus("no/such/status.json"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/such/status.json")));
}

}  // namespace
}  // namespace regard
