// Every shipped config says what it is, parses and is valid.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "experiments/build_task.h"
#include "experiments/config/origins.h"
#include "experiments/config/reader.h"
#include "experiments/experiment.pb.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"

namespace regard {
namespace {

std::vector<std::string> Configs() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("configs")) {
    if (entry.path().extension() == ".textproto") {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

TEST(ConfigsTest, SayWhatTheyAre) {
  const std::vector<std::string> paths = Configs();
  EXPECT_GE(paths.size(), 2);
  for (const std::string& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_TRUE(absl::StartsWith(text.str(),
                                 "# proto-file: experiments/experiment.proto\n"
                                 "# proto-message: regard.Experiment\n"))
        << path;
  }
}

TEST(ConfigsTest, AreValid) {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  for (const std::string& path : Configs()) {
    // A corpus is the user's to give.
    Experiment config;
    std::vector<std::string> overrides;
    absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({path, std::nullopt}, overrides, &config);
    ASSERT_TRUE(origins.ok()) << origins.status().message();
    if (config.data().has_pairs() && !config.data().has_path()) {
      overrides.push_back("data.path=corpus.txt");
      config.Clear();
      origins = ReadConfig({path, std::nullopt}, overrides, &config);
      ASSERT_TRUE(origins.ok()) << origins.status().message();
    }
    ConfigProblems problems;
    ValidateExperiment(config, scorers, problems);
    EXPECT_TRUE(LocateProblems(problems, *origins).ok())
        << LocateProblems(problems, *origins).message();
    EXPECT_EQ(std::filesystem::path(path).stem(), config.name());
  }
}

}  // namespace
}  // namespace regard
