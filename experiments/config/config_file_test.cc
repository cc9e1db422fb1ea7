#include "experiments/config/config_file.h"

#include <string>

#include "absl/status/statusor.h"
#include "experiments/config/config_text.h"
#include "experiments/testing/temporary_files.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

class ConfigFileTest : public testing::TemporaryFiles {};

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
  EXPECT_EQ(a->identity, same->identity);
  EXPECT_NE(a->identity, other->identity);
}

}  // namespace
}  // namespace regard
