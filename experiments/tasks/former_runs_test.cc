#include "experiments/tasks/former_runs.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

TEST(FormerRunsTest, FormerNamesOfFieldsAreRead) {
  const auto load = [](const std::string& data,
                       const std::vector<std::string>& overrides) {
    return LoadConfig(
        {"c.textproto", absl::StrCat("data { ", data,
                                     " } model { encoder {} attention { dot {} "
                                     "} decoder {} }")},
        overrides, BuiltInPlugins());
  };
  const auto given =
      load("phrasebook { test: 8 test_apart: 7 reversed: true }", {});
  ASSERT_THAT(given, IsOk());
  EXPECT_EQ(given->config.data().phrasebook().test_unseen_pairs(), 7);
  EXPECT_TRUE(given->config.data().phrasebook().reversed());
  EXPECT_THAT(given->resolved,
              HasSubstr("test_unseen_pairs: 7  # c.textproto:1"));
  const auto field = load("phrasebook { test_unseen_pairs: 7 }",
                          {"data.phrasebook.test_apart=9"});
  ASSERT_THAT(field, IsOk());
  EXPECT_EQ(field->config.data().phrasebook().test_unseen_pairs(), 9);
  EXPECT_THAT(field->resolved, HasSubstr("test_unseen_pairs: 9  # --set"));
  const auto message =
      load("path: 'x' phrasebook {}", {"data.pairs={num_steps: 3}"});
  ASSERT_THAT(message, IsOk());
  EXPECT_EQ(message->config.data().pairs().cut_tokens(), 3);
  EXPECT_THAT(load("phrasebook { test_apart: 7 test_unseen_pairs: 7 }", {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'test_unseen_pairs' is set twice")));
}

// Of a run from before the field, in which cross-attention inherited any score.
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
  // Runs of this version have the field.
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

}  // namespace
}  // namespace regard
