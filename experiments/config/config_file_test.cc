#include "experiments/config/config_file.h"

#include <cstdlib>
#include <string>

#include "absl/status/statusor.h"
#include "experiments/config/config_text.h"
#include "experiments/config/temporary_files.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

class ConfigFileTest : public testing::TemporaryFiles {};

TEST_F(ConfigFileTest, UserPathsStartWhereTheUserStands) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/lab", 1);
  EXPECT_EQ(ResolveUserPath("a/b"), "/home/lab/a/b");
  EXPECT_EQ(ResolveUserPath("/a/b"), "/a/b");
  EXPECT_EQ(ResolveUserPath(""), "");
  setenv("BUILD_WORKING_DIRECTORY", "/", 1);
  EXPECT_EQ(ResolveUserPath("a"), "/a");
}

TEST_F(ConfigFileTest, UserPathsFallBackToTheCurrentDirectory) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("a/b"), "a/b");
}

TEST_F(ConfigFileTest, ReadsUpToTheCap) {
  WriteFile("a", std::string(kMostConfigBytes, '#'));
  const absl::StatusOr<ConfigFile> file = ReadConfigFile("a");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->text.size(), kMostConfigBytes);
  WriteFile("b", std::string(kMostConfigBytes + 1, '#'));
  EXPECT_FALSE(ReadConfigFile("b").ok());
}

TEST_F(ConfigFileTest, TwoNamesOfOneFileAreTheSame) {
  WriteFile("d/a", "seed: 3");
  WriteFile("d/b", "seed: 3");
  const absl::StatusOr<ConfigFile> a = ReadConfigFile("d/a");
  const absl::StatusOr<ConfigFile> same = ReadConfigFile("d/../d/a");
  const absl::StatusOr<ConfigFile> other = ReadConfigFile("d/b");
  ASSERT_THAT(a, IsOk());
  ASSERT_THAT(same, IsOk());
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(a->inode, same->inode);
  EXPECT_EQ(a->device, same->device);
  EXPECT_NE(a->inode, other->inode);
}

}  // namespace
}  // namespace regard
