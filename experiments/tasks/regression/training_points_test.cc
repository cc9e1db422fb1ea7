#include "experiments/tasks/regression/training_points.h"

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/column_scale.h"
#include "data/nadaraya_watson_data.h"
#include "experiments/run/environment.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "files/sha256.h"
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
using ::testing::SizeIs;

RegressionData Data() {
  RegressionData data;
  data.training = {.x = {0.1, 1e-300, 1.7e9 + 1, -3}, .y = {1.0 / 3, 2}};
  data.training.width = 2;
  data.dev = {.x = {5, 6}, .y = {7}, .width = 2};
  data.x_names = {"a \"quoted\" name", "b"};
  data.y_name = "c";
  return data;
}

// Returns the reader of a run folder with the given files.
StoredFiles Kept(const std::map<std::string, std::string>& files,
                 const std::string& folder = "run") {
  return {folder, [files](const std::string& name) {
            const auto found = files.find(name);
            return found == files.end()
                       ? absl::StatusOr<std::string>(absl::NotFoundError(name))
                       : found->second;
          }};
}

TEST(TrainingPointsTest, AreReadAsTheyWereWritten) {
  for (const bool scaled : {false, true}) {
    RegressionData data = Data();
    if (scaled) {
      data.x_scales = {{0.1, 0.3}, {-1, 2}};
      data.y_scale = {1e9, 1.0 / 3};
    }
    const auto files = TrainingPointsFiles(data);
    EXPECT_THAT(files, SizeIs(1));
    RegressionData read;
    ASSERT_THAT(UseStoredPoints(Kept(files), &read), IsOk());
    EXPECT_EQ(read.training.x, data.training.x);
    EXPECT_EQ(read.training.y, data.training.y);
    EXPECT_EQ(read.training.width, 2);
    EXPECT_EQ(read.x_names, data.x_names);
    EXPECT_EQ(read.y_name, "c");
    EXPECT_EQ(read.x_scales, data.x_scales);
    EXPECT_EQ(read.y_scale, data.y_scale);
  }
}

TEST(TrainingPointsTest, TakeThePlaceOfOthers) {
  const auto files = TrainingPointsFiles(Data());
  RegressionData other = Data();
  other.training.y = {0, 0};
  other.y_scale = {5, 6};
  ASSERT_THAT(UseStoredPoints(Kept(files), &other), IsOk());
  EXPECT_THAT(other.training.y, ElementsAre(1.0 / 3, 2));
  EXPECT_EQ(other.y_scale, ColumnScale());
  EXPECT_THAT(other.dev.y, ElementsAre(7));
  other.x_names = {"b", "a"};
  EXPECT_EQ(UseStoredPoints(Kept(files), &other).message(),
            "error: data: the model predicts c from a \"quoted\" name, b, but "
            "the data has c from b, a; choose columns with data.table.target "
            "and data.table.columns");
}

TEST(TrainingPointsTest, WithoutAFileTheDataMustBeTheSame) {
  RegressionData none;
  EXPECT_TRUE(absl::IsNotFound(UseStoredPoints(Kept({}), &none)));
  const std::string folder = ::testing::TempDir();
  RegressionData data = Data();
  // Earlier versions stored the digest of the data file, but no points.
  Environment environment = BuildEnvironment();
  environment.data["data.path"] = std::string(64, 'a');
  const auto write = [&] {
    ASSERT_THAT(WriteFileAtomically(JoinPath(folder, "environment.json"),
                                    EnvironmentJson(environment)),
                IsOk());
  };
  write();
  data.digests["data.path"] = std::string(64, 'a');
  EXPECT_THAT(UseStoredPoints(Kept({}, folder), &data), IsOk());
  data.digests["data.path"] = std::string(64, 'b');
  EXPECT_THAT(UseStoredPoints(Kept({}, folder), &data),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("error: data.path has changed since the "
                                 "training: its SHA-256 was aaa")));
  // A run with too many points to store has only their digest.
  const auto changed =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("error: data: the training points have changed"));
  RegressionData others = data;
  others.training.x[0] = 0;
  data.training.x.resize(size_t{2} << 22, 0.1234567890123);
  data.training.y.resize(size_t{1} << 22, 0.1234567890123);
  const auto files = TrainingPointsFiles(data);
  ASSERT_EQ(files.begin()->first, kPointsDigestFile);
  EXPECT_THAT(UseStoredPoints(Kept(files, folder), &data), IsOk());
  EXPECT_THAT(UseStoredPoints(Kept(files, folder), &others), changed);
  data.training = Data().training;
  environment.files[kPointsFile] =
      Sha256Hex(TrainingPointsFiles(data).at(kPointsFile));
  write();
  EXPECT_THAT(UseStoredPoints(Kept({}, folder), &data), IsOk());
  EXPECT_THAT(UseStoredPoints(Kept({}, folder), &others), changed);
}

TEST(TrainingPointsTest, SayWhatIsWrongWithTheFile) {
  const auto error = [](const std::string& text) {
    RegressionData data;
    return std::string(
        UseStoredPoints(Kept({{kPointsFile, text}}), &data).message());
  };
  EXPECT_THAT(error("[]"), HasSubstr("run/training_points.json"));
  EXPECT_THAT(error(R"({"columns":["a"],"target":"b","x":[1,2],"y":[1]})"),
              HasSubstr("must have a number for each column and each y"));
  EXPECT_THAT(error(R"({"columns":["a"],"target":"b","x":["1"],"y":[1]})"),
              HasSubstr("must be finite numbers"));
  EXPECT_THAT(error(R"({"columns":["a"],"target":"b","x":[1],"y":[1],)"
                    R"("means":[0,0],"deviations":[1,0]})"),
              HasSubstr("must be above 0"));
  EXPECT_THAT(error(R"({"columns":["a"],"target":"b","x":[1],"y":[1],)"
                    R"("means":[0],"deviations":[1]})"),
              HasSubstr("must have a number for each column and the target"));
  EXPECT_THAT(error(R"({"columns":["a"],"target":"b","x":[1],"y":[1]})"),
              IsEmpty());
}

}  // namespace
}  // namespace regard
