#include "options/config_fields.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::google::protobuf::DescriptorProto;
using ::testing::ElementsAre;

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

TEST(SplitPathTest, MalformedStepsAreNotFieldNames) {
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

TEST(LayOverTest, ListsReplaceAndMessagesCombine) {
  const auto parse = [](const char* text) {
    DescriptorProto message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
    return message;
  };
  DescriptorProto whole = parse(
      "name: 'a' reserved_name: 'x' reserved_name: 'y' options { deprecated: "
      "true uninterpreted_option { identifier_value: 'b' } }");
  MergeInto(parse("options { map_entry: true uninterpreted_option { "
                  "identifier_value: 'c' } }"),
            &whole);
  EXPECT_EQ(whole.name(), "a");
  EXPECT_THAT(whole.reserved_name(), ElementsAre("x", "y"));
  EXPECT_TRUE(whole.options().deprecated());
  EXPECT_TRUE(whole.options().map_entry());
  ASSERT_EQ(whole.options().uninterpreted_option_size(), 1);
  EXPECT_EQ(whole.options().uninterpreted_option(0).identifier_value(), "c");
  MergeInto(parse("reserved_name: 'z'"), &whole);
  EXPECT_THAT(whole.reserved_name(), ElementsAre("z"));
  EXPECT_EQ(whole.options().uninterpreted_option_size(), 1);
}

TEST(NoSuchFieldTest, ExtensionOfAPlugInThatIsNotLinkedIn) {
  EXPECT_EQ(NoSuchFieldMessage(*google::protobuf::EnumOptions::descriptor(),
                               "[my_project.block_sparse_kernel]"),
            "no extension '[my_project.block_sparse_kernel]' of EnumOptions "
            "is linked in; add its target to the program's regard_binary()");
}

}  // namespace
}  // namespace regard
