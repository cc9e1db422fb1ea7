#include "experiments/sweep/expansion.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/sweep/axis_flag.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::SizeIs;

SweepWithOrigins SourceOf(const std::string& text) {
  SweepWithOrigins source;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(text, &source.sweep));
  source.sweep.set_config("a.textproto");
  return source;
}

std::vector<std::string> OverridesOf(const SweepArm& arm) {
  std::vector<std::string> overrides;
  for (const ConfigTextWithOrigin& text : arm.overrides) {
    overrides.push_back(text.text());
  }
  return overrides;
}

std::vector<std::string> NamesOf(const ExpandedSweep& plan) {
  std::vector<std::string> names;
  for (const SweepArm& arm : plan.arms) names.push_back(arm.name);
  return names;
}

TEST(ExpandSweepTest, HasAnArmForEachCombinationAndWholeSeedsFirst) {
  SweepWithOrigins source = SourceOf(R"(
      seeds: 2 first_seed: 5 override { path: "training.epochs" value: "3" })");
  *source.sweep.add_axis() = *ParseAxisFlag("model.attention=additive,dot");
  *source.sweep.add_axis() =
      *ParseAxisFlag("optimizer.learning_rate=.002,0.004,1e-3");
  const absl::StatusOr<ExpandedSweep> plan = ExpandSweep(source);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(
      NamesOf(*plan),
      ElementsAre("additive__learning_rate_0.002",
                  "additive__learning_rate_0.004",
                  "additive__learning_rate_1e-3", "dot__learning_rate_0.002",
                  "dot__learning_rate_0.004", "dot__learning_rate_1e-3"));
  EXPECT_THAT(OverridesOf(plan->arms[3]),
              ElementsAre("training.epochs=3", "model.attention={dot {}}",
                          "optimizer.learning_rate=.002"));
  EXPECT_THAT(plan->arms[4].coordinates, ElementsAre(1, 1));
  ASSERT_THAT(plan->cells, SizeIs(12));
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(plan->cells[i].arm, i % 6);
    EXPECT_EQ(plan->cells[i].seed, i < 6 ? 5 : 6);
  }
  ASSERT_THAT(plan->axes, SizeIs(2));
  EXPECT_EQ(plan->axes[0].name, "model.attention");
  EXPECT_EQ(plan->axes[0].values[1].label, "dot");
  EXPECT_THAT(plan->axes[0].values[1].overrides,
              ElementsAre("model.attention={dot {}}"));
  EXPECT_EQ(plan->axes[1].baseline, 0);
}

TEST(ExpandSweepTest, ChangesTheFieldsOfAnAxisTogether) {
  const absl::StatusOr<ExpandedSweep> plan = ExpandSweep(SourceOf(R"(
      axis {
        name: "size" path: "a" path: "b" baseline: "large"
        value { label: "small" set: "1" set: "2" }
        value { label: "large" set: "3" set: "4"
                override { path: "c" value: "5" } }
        value { set: "6" set: "7" }
      })"));
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(NamesOf(*plan), ElementsAre("small", "large", "6__7"));
  EXPECT_THAT(OverridesOf(plan->arms[1]), ElementsAre("a=3", "b=4", "c=5"));
  EXPECT_EQ(plan->axes[0].baseline, 1);
  EXPECT_THAT(plan->cells, SizeIs(18));
}

TEST(ExpandSweepTest, AppliesConditions) {
  const absl::StatusOr<ExpandedSweep> plan = ExpandSweep(SourceOf(R"(
      seeds: 1
      axis { name: "score" value { label: "dot" } value { label: "additive" } }
      axis {
        path: "width" value { set: "8" } value { set: "16" }
        when { axis: "score" label: "additive" }
      }
      axis {
        path: "heads" value { set: "1" }
        value { set: "2" when { axis: "width" label: "16" label: "8" } }
      })"));
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(
      NamesOf(*plan),
      ElementsAre("dot__heads_1", "additive__width_8__heads_1",
                  "additive__width_8__heads_2", "additive__width_16__heads_1",
                  "additive__width_16__heads_2"));
  EXPECT_EQ(plan->axes[1].values.back().label, kNotApplicable);
  EXPECT_THAT(plan->arms[0].coordinates, ElementsAre(0, 2, 0));
  EXPECT_THAT(OverridesOf(plan->arms[0]), ElementsAre("heads=1"));
  EXPECT_THAT(plan->axes[2].values, SizeIs(2));
}

TEST(ExpandSweepTest, GivesEachArmItsOwnFolder) {
  const absl::StatusOr<ExpandedSweep> plan = ExpandSweep(SourceOf(R"(
      axis { path: "data.path" value { set: "a/b" } value { set: "a b" }
             value { set: "../c" } })"));
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(NamesOf(*plan), ElementsAre("a_b", "a_b_2", "_.._c"));
}

TEST(ExpandSweepTest, BeginsAllRunsWithTheSameOverrides) {
  SweepWithOrigins source = SourceOf("");
  *source.sweep.add_axis() = *ParseAxisFlag("a=1,2");
  const absl::StatusOr<ExpandedSweep> plan =
      ExpandSweep(source, {ConfigTextWithOrigin::Override("b=3")});
  EXPECT_THAT(OverridesOf(plan->arms[1]), ElementsAre("b=3", "a=2"));
}

TEST(ExpandSweepTest, ReportsAllProblems) {
  const auto error = [](const std::string& text) {
    return std::string(ExpandSweep(SourceOf(text)).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("error: axis: must have at least one axis"));
  const std::string several = error(R"(
      seeds: 0
      override { path: "seed" value: "1" }
      axis { path: "a" path: "b" value { set: "1" } }
      axis { path: "c" value { set: "1" } value { set: "1" } baseline: "2" }
      axis { path: "c" value { set: "1" } }
      axis { path: "d" when { axis: "e" label: "1" } }
      axis { path: "f" value { set: "1" when { axis: "c" label: "3" } } })");
  EXPECT_THAT(several, HasSubstr("error: seeds: "));
  EXPECT_THAT(several, HasSubstr("override[0].path: must not be seed"));
  EXPECT_THAT(several, HasSubstr("axis[0].value[0]: sets 1 field, but the axis "
                                 "has 2 paths"));
  EXPECT_THAT(several, HasSubstr("axis[1].value[1]: 1 appears twice"));
  EXPECT_THAT(several, HasSubstr("axis[1].baseline: axis c has no value 2"));
  EXPECT_THAT(several, HasSubstr("axis[2]: another axis is called c"));
  EXPECT_THAT(several, HasSubstr("axis[3]: has no values"));
  EXPECT_THAT(several, HasSubstr("axis[3].when.axis: no earlier axis is called "
                                 "'e'"));
  EXPECT_THAT(several,
              HasSubstr("axis[4].value[0].when.label[0]: axis c has no value "
                        "3"));
  EXPECT_THAT(error(R"(
      seeds: 1000
      axis { path: "a" value { set: "1" } value { set: "2" } value { set: "3" } }
      axis { path: "b" value { set: "1" } value { set: "2" } value { set: "3" } }
      axis { path: "c" value { set: "1" } value { set: "2" } value { set: "3" } }
      axis { path: "d" value { set: "1" } value { set: "2" } value { set: "3" } }
      axis { path: "e" value { set: "1" } value { set: "2" } value { set: "3" } }
      )"),
              HasSubstr("must have at most 100000 runs"));
}

TEST(SweepWithOriginsTest, SaysWhereAPartWasWritten) {
  SweepWithOrigins source;
  EXPECT_EQ(source.OriginWithColumn("axis[0].value[0]"), "--axis");
  EXPECT_EQ(source.OriginWithColumn("override[3]"), "--set");
  ASSERT_THAT(ReadText(ConfigTextWithOrigin::File("grid.textproto",
                                                  "axis { path: \"a\" }\n"
                                                  "override { path: \"b\" }\n"),
                       &source.sweep, &source.origins),
              IsOk());
  source.axes_in_file = source.overrides_in_file = 1;
  EXPECT_EQ(source.OriginWithColumn("axis[0].value[0]"), "grid.textproto:1:1");
  EXPECT_EQ(source.OriginWithColumn("override[0]"), "grid.textproto:2:1");
  EXPECT_EQ(source.OriginWithColumn("axis[1].value[0]"), "--axis");
  EXPECT_EQ(source.OriginWithColumn("override[1]"), "--set");
}

}  // namespace
}  // namespace regard
