#include "experiments/tasks/former_runs.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<LoadedConfig> Load(
    const std::string& name, const std::string& data,
    const std::vector<std::string>& overrides = {}) {
  return LoadConfig(
      {name, absl::StrCat("data {\n  ", data,
                          "\n} model { encoder {} attention { dot {} } "
                          "decoder {} }")},
      overrides, BuiltInPlugins());
}

constexpr char kFormer[] = "phrasebook { test: 8 test_apart: 7 }";

TEST(FormerRunsTest, FormerNamesOfFieldsAreErrorsWithTheCurrentNames) {
  EXPECT_THAT(
      Load("c.textproto", kFormer),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("c.textproto:2:24: error: 'test_apart' was renamed to "
                         "'test_unseen_pairs'\n")));
  EXPECT_THAT(
      Load("c.textproto", "phrasebook {}", {"data.phrasebook.test_apart=9"}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--set: error: 'test_apart' was renamed to "
                         "'test_unseen_pairs'\n")));
  EXPECT_THAT(Load("c.textproto", "path: 'x' phrasebook {}",
                   {"data.pairs={num_steps: 3}"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'num_steps' was renamed to 'cut_tokens'\n")));
}

TEST(FormerRunsTest, FormerNamesAreReadInTheFilesOfARun) {
  const std::string folder = JoinPath(::testing::TempDir(), "former");
  const std::string given = JoinPath(folder, "config.textproto");
  EXPECT_THAT(
      Load("elsewhere/config.textproto", kFormer),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("was renamed")));
  const std::string resolved = JoinPath(folder, "resolved.textproto");
  std::filesystem::create_directories(folder);
  ASSERT_THAT(WriteFileAtomically(resolved, "seed: 1\n"), IsOk());
  for (const std::string& name : {given, resolved}) {
    const auto loaded = Load(name, kFormer);
    ASSERT_THAT(loaded, IsOk());
    EXPECT_EQ(loaded->config.data().phrasebook().test_unseen_pairs(), 7);
    EXPECT_THAT(loaded->resolved, HasSubstr("test_unseen_pairs: 7  # /"));
    EXPECT_THAT(Load(name, "phrasebook { test_apart: 7 test_unseen_pairs: 7 }"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("'test_unseen_pairs' is set twice")));
    // An override that a user types must use the new name of a renamed field.
    EXPECT_THAT(
        Load(name, kFormer, {"data.phrasebook.test_apart=9"}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("was renamed")));
  }
}

// Runs of versions without the field cross_reads_positions keep the rule of
// these versions: cross-attention inherits any score of the self-attention.
TEST(FormerRunsTest, ResolvedConfigsOfFormerVersionsKeepTheirMeaning) {
  constexpr char kDecoder[] =
      "attention { heads: 2 attention { location {} } } ";
  const auto inherits = [&](const std::string& name, const std::string& rest) {
    const auto loaded = LoadConfig(
        {name, absl::StrCat("data { reverse {} } model { transformer "
                            "{ width: 8 ",
                            rest, "} }")},
        {}, BuiltInPlugins());
    EXPECT_THAT(loaded, IsOk());
    return loaded->config.model().transformer().cross_reads_positions();
  };
  constexpr char kStored[] = "runs/a/resolved.textproto";
  EXPECT_TRUE(inherits(kStored, kDecoder));
  EXPECT_TRUE(inherits(kStored,
                       "pattern { attention { attention { location {} "
                       "} } }"));
  EXPECT_FALSE(inherits("c.textproto", kDecoder));
  // Runs of this version store the field cross_reads_positions.
  EXPECT_FALSE(inherits(
      kStored, absl::StrCat(kDecoder, "cross_reads_positions: false ")));
  EXPECT_FALSE(inherits(kStored, ""));
  const auto fresh = LoadConfig(
      {"c.textproto", absl::StrCat("data { reverse {} } model { transformer { ",
                                   kDecoder, "} }")},
      {}, BuiltInPlugins());
  ASSERT_THAT(fresh, IsOk());
  EXPECT_THAT(fresh->resolved, HasSubstr("cross_reads_positions: false"));
}

TEST(FormerRunsTest, AStoredConfigIsReadAsThisProgramWouldWriteIt) {
  const ConfigPathOrText source = {
      "runs/a/resolved.textproto",
      "data { reverse {} } model { transformer { attention { attention { "
      "location {} } } } } search { max_length: 10 max_length_ratio: 2 }"};
  const auto read = [&](const Experiment& config) {
    return ReadFormerConfig(source, BuiltInPlugins().scorers, config).value();
  };
  Experiment config;
  Experiment stored = read(config);
  EXPECT_TRUE(stored.data().has_text_version());
  EXPECT_EQ(stored.data().text_version(), 0);
  EXPECT_TRUE(stored.model().transformer().cross_reads_positions());
  EXPECT_FALSE(stored.search().has_max_length());
  EXPECT_FALSE(stored.search().has_max_length_ratio());
  config.mutable_search()->set_max_length(10);
  stored = read(config);
  EXPECT_EQ(stored.search().max_length(), 10);
  EXPECT_EQ(stored.search().max_length_ratio(), 2);
  EXPECT_THAT(ReadFormerConfig({"resolved.textproto", "seeed: 1"},
                               BuiltInPlugins().scorers, config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seeed")));
}

}  // namespace
}  // namespace regard
