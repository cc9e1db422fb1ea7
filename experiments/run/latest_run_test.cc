#include "experiments/run/latest_run.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
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

class LatestRunTest : public ::testing::Test {
 protected:
  LatestRunTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    setenv("BUILD_WORKSPACE_DIRECTORY", root_.c_str(), 1);
  }
  ~LatestRunTest() override { unsetenv("BUILD_WORKSPACE_DIRECTORY"); }

  // Makes a directory below the root.
  std::string Folder(const std::string& name) const {
    const std::string path = JoinPath(root_, name);
    std::filesystem::create_directories(path);
    return path;
  }

  const std::string root_ = JoinPath(::testing::TempDir(), "latest_run");
};

TEST_F(LatestRunTest, IsTheLastRecordedRun) {
  EXPECT_TRUE(absl::IsNotFound(LatestRun().status()));
  ASSERT_THAT(RecordLatestRun(Folder("runs/a")), IsOk());
  EXPECT_EQ(LatestRun().value(), root_ + "/runs/a");
  ASSERT_THAT(RecordLatestRun(Folder("runs/b")), IsOk());
  EXPECT_EQ(LatestRun().value(), root_ + "/runs/b");
  // A path through the link, as with --run=runs/latest, must not change the
  // link.
  ASSERT_THAT(RecordLatestRun(root_ + "/runs/latest"), IsOk());
  EXPECT_EQ(LatestRun().value(), root_ + "/runs/b");
  EXPECT_THAT(ListDirectory(root_ + "/runs").value(),
              ElementsAre("a", "b", "latest"));
}

TEST_F(LatestRunTest, IsARelativeName) {
  ASSERT_THAT(RecordLatestRun(Folder("runs/a")), IsOk());
  EXPECT_EQ(std::filesystem::read_symlink(root_ + "/runs/latest"), "a");
}

TEST_F(LatestRunTest, IsInTheFolderOfNewRunsAndNotDeeper) {
  ASSERT_THAT(RecordLatestRun(Folder("elsewhere")), IsOk());
  EXPECT_FALSE(PathExists(root_ + "/runs"));
  ASSERT_THAT(RecordLatestRun(Folder("runs/grid/cells/1")), IsOk());
  ASSERT_THAT(RecordLatestRun(Folder("runs/a/baseline")), IsOk());
  ASSERT_THAT(RecordLatestRun(Folder("elsewhere/runs/a")), IsOk());
  EXPECT_FALSE(PathExists(root_ + "/runs/latest"));
}

TEST_F(LatestRunTest, ALinkToTheFolderOfRunsIsFollowed) {
  Folder("disk/a");
  std::filesystem::create_directory_symlink("disk", root_ + "/runs");
  ASSERT_THAT(RecordLatestRun(root_ + "/disk/a"), IsOk());
  EXPECT_EQ(LatestRun().value(), root_ + "/runs/a");
}

TEST_F(LatestRunTest, ARunOfThatNameStays) {
  const std::string named = Folder("runs/latest");
  ASSERT_THAT(RecordLatestRun(named), IsOk());
  EXPECT_THAT(RecordLatestRun(Folder("runs/a")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("runs/latest: is not a link")));
  EXPECT_TRUE(IsDirectory(named));
  EXPECT_FALSE(LatestRun().ok());
}

}  // namespace
}  // namespace regard
