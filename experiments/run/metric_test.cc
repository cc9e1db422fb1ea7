#include "experiments/run/metric.h"

#include <map>
#include <string>
#include <vector>

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
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<std::vector<MetricInfo>> Read(absl::string_view text) {
  const std::string path = JoinPath(::testing::TempDir(), "run.json");
  EXPECT_THAT(WriteFileAtomically(path, text), IsOk());
  return ReadRunDescription(::testing::TempDir());
}

TEST(RunDescriptionTest, ReadsWhatItWrites) {
  const std::vector<MetricInfo> written = {
      {"loss", "nats per token", "cross-\"entropy\"", Better::kLower, true},
      {"bleu", "", "overlap", Better::kHigher},
      {"learning_rate", "", "", Better::kNeither}};
  const auto read = Read(RunDescriptionJson(written));
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ((*read)[i].name, written[i].name);
    EXPECT_EQ((*read)[i].unit, written[i].unit);
    EXPECT_EQ((*read)[i].meaning, written[i].meaning);
    EXPECT_EQ((*read)[i].better, written[i].better);
    EXPECT_EQ((*read)[i].logarithmic, written[i].logarithmic);
  }
}

TEST(RunDescriptionTest, KeepsNumbersAboutTheTrainingData) {
  const std::map<std::string, double> numbers = {{"longest", 49},
                                                 {"ratio", 10.0 / 3}};
  const auto numbers_of = [](absl::string_view text) {
    EXPECT_THAT(Read(text), IsOk());
    return ReadTrainingDataNumbers(::testing::TempDir());
  };
  EXPECT_EQ(*numbers_of(RunDescriptionJson({}, numbers)), numbers);
  // Earlier versions wrote no numbers about the training data.
  EXPECT_TRUE(numbers_of(RunDescriptionJson({}))->empty());
  EXPECT_THAT(
      numbers_of("{\"format_version\":2,\"metrics\":[],\n"
                 "\"training_data\":{\"ratio\":\"five\"}}"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run.json:2:")));
}

TEST(RunDescriptionTest, AnotherVersionIsNamed) {
  EXPECT_THAT(Read("{\"format_version\":7,\"metrics\":[]}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has format version 7, but this program reads "
                                 "version 2; ")));
}

TEST(RunDescriptionTest, OtherTextsAreRefused) {
  for (const char* text :
       {"", "[]", "{}", "{\"format_version\":2}",
        "{\"format_version\":2,\"metrics\":[{\"name\":\"loss\"}]}"}) {
    EXPECT_THAT(Read(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("run.json:1:")))
        << text;
  }
}

TEST(RunDescriptionTest, AFolderWithoutTheFileIsOfVersion1) {
  const std::string folder = JoinPath(::testing::TempDir(), "version_1");
  FileOperations files;
  ASSERT_THAT(RemoveTree(folder, files), IsOk());
  ASSERT_THAT(MakeDirectories(folder, files), IsOk());
  EXPECT_THAT(ReadRunDescription(folder),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("error: not a run folder")));
  ASSERT_THAT(
      WriteFileAtomically(JoinPath(folder, "resolved.textproto"), "seed: 1\n"),
      IsOk());
  EXPECT_THAT(ReadRunDescription(folder),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(folder + ": error: the run folder has format "
                                          "version 1, but this program reads "
                                          "version 2")));
}

}  // namespace
}  // namespace regard
