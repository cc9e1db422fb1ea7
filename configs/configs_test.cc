// Tests that every shipped config states its message type, parses and is valid.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/testing/read_back.h"
#include "gtest/gtest.h"
#include "options/reader.h"

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

TEST(ConfigsTest, NameTheirMessageType) {
  const std::vector<std::string> paths = Configs();
  EXPECT_GE(paths.size(), 20);
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
  const Plugins plugins = BuiltInPlugins();
  for (const std::string& path : Configs()) {
    Experiment config;
    const auto origins = ReadConfig({path, std::nullopt}, {}, &config);
    ASSERT_TRUE(origins.ok()) << origins.status().message();
    // Overrides for the paths that users must supply.
    std::vector<std::string> overrides;
    const PairsConfig& pairs = config.data().pairs();
    const bool reads = config.data().has_pairs() || config.data().has_text() ||
                       config.data().has_table();
    if (pairs.train().has_source()) {
      // The corpus files are part of the config.
    } else if (pairs.has_train()) {
      overrides.push_back("data.pairs.train.path=train.txt");
      if (pairs.has_dev()) overrides.push_back("data.pairs.dev.path=dev.txt");
      if (pairs.test_size() > 0) {
        overrides.push_back("data.pairs.test.path=test.txt");
      }
    } else if (reads && !config.data().has_path()) {
      overrides.push_back("data.path=corpus.txt");
    }
    // Configs that ablations extend lack the settings of an axis.
    if (config.data().data_source_case() == Data::DATA_SOURCE_NOT_SET) {
      overrides.push_back("data={reverse {}}");
    }
    if (config.model().model_case() == ModelConfig::MODEL_NOT_SET) {
      overrides.push_back("model={transformer {}}");
    }
    if (config.model().has_decoder() && !config.model().has_attention()) {
      overrides.push_back("model.attention={dot {}}");
    }
    const auto loaded = LoadConfig({path, std::nullopt}, overrides, plugins);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    // A run directory keeps the resolved config, which must parse again.
    EXPECT_EQ(testing::FindRoundTripProblem(loaded->config, plugins), "")
        << path;
    if (std::filesystem::path(path).parent_path() == "configs") {
      EXPECT_EQ(std::filesystem::path(path).stem(), config.name());
    }
  }
}

}  // namespace
}  // namespace regard
