#include "experiments/build_task.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/scorer_registry.h"
#include "experiments/data/phrasebook.h"
#include "experiments/experiment.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What is wrong with the data of an experiment, as `path: text`.
std::vector<std::string> DataProblems(const PhrasebookConfig& phrasebook) {
  Experiment config;
  *config.mutable_data()->mutable_phrasebook() = phrasebook;
  ConfigProblems problems;
  ValidateExperiment(config, ScorerRegistry(), problems);
  std::vector<std::string> found;
  for (const auto& problem : problems.problems()) {
    if (problem.path.rfind("data", 0) == 0) {
      found.push_back(absl::StrCat(problem.path, ": ", problem.message));
    }
  }
  return found;
}

TEST(BuildTaskTest, APhrasebookNeedsWordsForItsOtherSplits) {
  for (int train = 0; train <= 60; ++train) {
    PhrasebookConfig sizes;
    sizes.set_train(train);
    if (train < 50) {
      EXPECT_THAT(DataProblems(sizes),
                  ElementsAre(absl::StrCat("data.phrasebook.train: must be in "
                                           "[50, 1e+06], got ",
                                           train)));
    } else {
      EXPECT_THAT(DataProblems(sizes), IsEmpty()) << train;
    }
  }
}

TEST(BuildTaskTest, TheOtherSplitsOfAPhrasebookAreAtMostTenTimesAsLarge) {
  PhrasebookConfig sizes;
  sizes.set_train(80);
  sizes.set_dev(800);
  sizes.set_test(800);
  sizes.set_test_apart(800);
  EXPECT_THAT(DataProblems(sizes), IsEmpty());
  sizes.set_dev(801);
  sizes.set_test(801);
  sizes.set_test_apart(0);
  EXPECT_THAT(
      DataProblems(sizes),
      ElementsAre("data.phrasebook.dev: must be in [0, 800], got 801",
                  "data.phrasebook.test: must be in [1, 800], got 801",
                  "data.phrasebook.test_apart: must be in [1, 800], got 0"));
}

TEST(BuildTaskTest, TheSizesOfAPhrasebookHaveTheSameDefaultsEverywhere) {
  const PhrasebookConfig config;
  const PhrasebookOptions options;
  EXPECT_EQ(config.train(), options.train);
  EXPECT_EQ(config.dev(), options.dev);
  EXPECT_EQ(config.test(), options.test_unseen);
  EXPECT_EQ(config.test_apart(), options.test_apart);
}

}  // namespace
}  // namespace regard
