#include "experiments/testing/random_config.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/testing/random_fields.h"
#include "experiments/testing/read_back.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard::testing {
namespace {

using ::testing::IsEmpty;

// These options are never valid. They require a standard deviation, which only
// Transformers have.
constexpr const char* kNeverValid[] = {
    "regard.RecurrentDecoderConfig.initialization=NORMAL",
    "regard.RecurrentDecoderConfig.initialization=TRUNCATED_NORMAL",
    "regard.RecurrentEncoderConfig.initialization=NORMAL",
    "regard.RecurrentEncoderConfig.initialization=TRUNCATED_NORMAL",
};

TEST(RandomConfigTest, ResolvedTextsOfAllKindsReadBack) {
  const std::string folder = ::testing::TempDir() + "/random_config_test";
  std::filesystem::create_directories(folder);
  RandomConfigs configs(folder);
  const Plugins plugins = BuiltInPlugins();
  std::set<std::string> missing = AllChoices(*Experiment::descriptor());
  std::set<std::string> made;
  int pairs = 0;  // number of configs that read labelled pairs
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Experiment config = configs.Draw(seed);
    EXPECT_EQ(FindRoundTripProblem(config, plugins), "") << "seed " << seed;
    AddChoices(config, &made);
    pairs += config.data().path() == folder + "/labelled_pairs" ? 1 : 0;
  }
  for (const char* choice : kNeverValid) {
    EXPECT_EQ(missing.erase(choice), 1) << choice;
    EXPECT_EQ(made.count(choice), 0) << choice;
  }
  for (const std::string& choice : made) missing.erase(choice);
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GT(pairs, 0);
  EXPECT_LT(configs.rejections(), 250);
}

TEST(RandomConfigTest, ASeedHasOneConfig) {
  const std::string folder = ::testing::TempDir() + "/random_config_test";
  std::filesystem::create_directories(folder);
  RandomConfigs configs(folder);
  const std::string first = configs.Draw(7).DebugString();
  EXPECT_NE(configs.Draw(8).DebugString(), first);
  EXPECT_EQ(configs.Draw(7).DebugString(), first);
}

}  // namespace
}  // namespace regard::testing
