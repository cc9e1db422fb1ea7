#include "nn/config_fields.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(SplitPathTest, SplitsAtDotsOutsideBrackets) {
  const std::vector<PathStep> steps =
      SplitPath("model.layers[1].outside.[lab.my_score].width");
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].name, "model");
  EXPECT_EQ(steps[0].index, std::nullopt);
  EXPECT_EQ(steps[1].name, "layers");
  EXPECT_EQ(steps[1].index, 1);
  EXPECT_EQ(steps[1].range.begin, 6u);
  EXPECT_EQ(steps[1].range.length, 9u);
  EXPECT_EQ(steps[3].name, "[lab.my_score]");
  EXPECT_EQ(steps[3].index, std::nullopt);
  EXPECT_EQ(steps[4].name, "width");
}

TEST(SplitPathTest, ElementOfAnExtension) {
  const PathStep step = SplitPath("[lab.lags][2]").back();
  EXPECT_EQ(step.name, "[lab.lags]");
  EXPECT_EQ(step.index, 2);
}

TEST(SplitPathTest, MalformedStepsAreNoFieldsName) {
  EXPECT_EQ(SplitPath("").back().name, "");
  EXPECT_EQ(SplitPath("a.").back().name, "");
  EXPECT_EQ(SplitPath("a[x]").back().name, "a[x]");
  EXPECT_EQ(SplitPath("a[]").back().name, "a[]");
  EXPECT_EQ(SplitPath("a[-1]").back().name, "a[-1]");
  EXPECT_EQ(SplitPath("a[1").back().name, "a[1");
}

TEST(SplitPathTest, HugeIndexIsKeptFinite) {
  EXPECT_EQ(SplitPath("a[99999999999999]").back().index,
            std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace regard
