#include "experiments/testing/random_combination.h"

#include <cstdint>
#include <set>
#include <string>

#include "attention/mixers/mixer.pb.h"
#include "attention/multi_head.pb.h"
#include "experiments/experiment.pb.h"
#include "experiments/testing/random_fields.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard::testing {
namespace {

using ::testing::IsEmpty;

TEST(RandomCombinationTest, MakesEveryChoiceOfAttentionAndMixers) {
  std::set<std::string> missing = AllChoices(*MultiHead::descriptor());
  missing.merge(AllChoices(*MixerConfig::descriptor()));
  std::set<std::string> made;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    AddChoices(RandomCombination(seed), &made);
  }
  for (const std::string& choice : made) missing.erase(choice);
  EXPECT_THAT(missing, IsEmpty());
}

TEST(RandomCombinationTest, ASeedHasOneExperiment) {
  const std::string first = RandomCombination(7).DebugString();
  EXPECT_NE(RandomCombination(8).DebugString(), first);
  EXPECT_EQ(RandomCombination(7).DebugString(), first);
}

}  // namespace
}  // namespace regard::testing
