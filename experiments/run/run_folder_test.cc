#include "experiments/run/run_folder.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() {
    FileOperations files;
    EXPECT_THAT(RemoveTree(root_, files), IsOk());
    EXPECT_THAT(MakeDirectories(root_, files), IsOk());
    setenv("BUILD_WORKSPACE_DIRECTORY", root_.c_str(), 1);
  }

  const std::string root_ = JoinPath(::testing::TempDir(), "run_folder");
};

TEST_F(RunFolderTest, WithoutAPathANewFolderIsMadeInTheWorkspace) {
  const RunFolderOptions options = {
      .name = "a b/c",
      .now = absl::FromCivil(absl::CivilSecond(2024, 2, 29, 13, 5, 9),
                             absl::UTCTimeZone())};
  const auto first = RunFolder::Open(options);
  const auto second = RunFolder::Open(options);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->path(), root_ + "/runs/a-b-c-20240229-130509");
  EXPECT_EQ(second->path(), root_ + "/runs/a-b-c-20240229-130509-2");
  EXPECT_FALSE(first->holds_run());
}

TEST_F(RunFolderTest, ANameCannotLeaveTheFolder) {
  const auto folder = RunFolder::Open({.name = ".."});
  ASSERT_THAT(folder, IsOk());
  EXPECT_EQ(folder->path(), root_ + "/runs/run..-19700101-000000");
}

TEST_F(RunFolderTest, AFolderThatHoldsARunIsRefusedUnlessResumed) {
  for (const char* file : {"config.textproto", "run.json", "status.json"}) {
    {
      const auto first = RunFolder::Open({.path = JoinPath(root_, file)});
      ASSERT_THAT(first, IsOk());
      ASSERT_THAT(first->Write(file, "text"), IsOk());
    }
    EXPECT_THAT(
        RunFolder::Open({.path = JoinPath(root_, file)}).status(),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--resume")));
    const auto resumed =
        RunFolder::Open({.path = JoinPath(root_, file), .resume = true});
    ASSERT_THAT(resumed, IsOk());
    EXPECT_TRUE(resumed->holds_run());
    EXPECT_EQ(resumed->Read(file).value(), "text");
  }
}

TEST_F(RunFolderTest, OtherFilesAreNoRun) {
  FileOperations files;
  ASSERT_THAT(MakeDirectories(JoinPath(root_, "x"), files), IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(root_, "x/notes.txt"), ""), IsOk());
  EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x")}), IsOk());
}

TEST_F(RunFolderTest, ASecondWriterIsRefusedUntilTheFirstIsGone) {
  {
    const auto first = RunFolder::Open({.path = JoinPath(root_, "x")});
    ASSERT_THAT(first, IsOk());
    EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x"), .resume = true})
                    .status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("another process")));
  }
  EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x")}), IsOk());
}

TEST_F(RunFolderTest, AFileInTheWayIsAnError) {
  ASSERT_THAT(WriteFileAtomically(JoinPath(root_, "file"), ""), IsOk());
  EXPECT_THAT(
      RunFolder::Open({.path = JoinPath(root_, "file")}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/file: ")));
}

}  // namespace
}  // namespace regard
