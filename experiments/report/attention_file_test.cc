#include "experiments/report/attention_file.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOneMap[] = R"({"maps":[
{"title":"a \"cat\"",
"rows":["le","chat"],
"columns":["the","cat","<eos>"],
"heads":[[
[0.5,0.25,0.25],
[0.33333334,1e-07,null]]],
"gold":[[1,2]]}]}
)";

LabelledMatrix OneMap() {
  LabelledMatrix map;
  map.title = "a \"cat\"";
  map.rows = {"le", "chat"};
  map.columns = {"the", "cat", "<eos>"};
  map.heads = {{0.5, 0.25, 0.25, 1.0 / 3, 1e-7, NAN}};
  map.gold = {{1, 2}};
  return map;
}

TEST(AttentionFileTest, IsWrittenRowByRow) {
  EXPECT_EQ(AttentionJson({OneMap()}), kOneMap);
  EXPECT_EQ(AttentionJson({}), "{\"maps\":[]}\n");
}

TEST(AttentionFileTest, KeepsTheHookPointBesideTheTitle) {
  LabelledMatrix map = OneMap();
  map.title = "decoder.0.self: a cat";
  map.site = "decoder/layers[0]/self/attention/weights";
  const std::string text = AttentionJson({map});
  EXPECT_THAT(text,
              HasSubstr("{\"title\":\"decoder.0.self: a cat\",\n\"site\":"
                        "\"decoder/layers[0]/self/attention/weights\",\n"));
  const auto maps = ParseAttentionJson(text);
  ASSERT_THAT(maps, IsOk());
  EXPECT_EQ((*maps)[0].title, map.title);
  EXPECT_EQ((*maps)[0].site, map.site);
}

TEST(AttentionFileTest, IsReadAsItWasWritten) {
  const auto maps = ParseAttentionJson(AttentionJson({OneMap(), OneMap()}));
  ASSERT_THAT(maps, IsOk());
  ASSERT_EQ(maps->size(), 2u);
  const LabelledMatrix& map = (*maps)[1];
  EXPECT_EQ(map.title, "a \"cat\"");
  EXPECT_THAT(map.rows, ElementsAre("le", "chat"));
  EXPECT_THAT(map.columns, ElementsAre("the", "cat", "<eos>"));
  ASSERT_EQ(map.heads.size(), 1u);
  EXPECT_EQ(static_cast<float>(map.heads[0][3]), 1.0F / 3);
  EXPECT_TRUE(std::isnan(map.heads[0][5]));
  ASSERT_EQ(map.gold.size(), 1u);
  EXPECT_EQ(map.gold[0].row, 1);
  EXPECT_EQ(map.gold[0].column, 2);
  EXPECT_EQ(AttentionJson(*maps), AttentionJson({OneMap(), OneMap()}));
}

TEST(AttentionFileTest, SeveralHeadsAreSeparate) {
  LabelledMatrix map = OneMap();
  map.heads = {{1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0}};
  const auto maps = ParseAttentionJson(AttentionJson({map}));
  ASSERT_THAT(maps, IsOk());
  EXPECT_EQ((*maps)[0].heads, map.heads);
}

TEST(AttentionFileTest, MayHoldMoreWeightsThanOtherFilesHoldValues) {
  LabelledMatrix map;
  map.rows.assign(2048, "a");
  map.columns.assign(2049, "b");
  map.heads = {std::vector<double>(2048 * 2049, 0)};
  const auto maps = ParseAttentionJson(AttentionJson({map}));
  ASSERT_THAT(maps, IsOk());
  EXPECT_EQ((*maps)[0].heads[0].size(), 2048u * 2049u);
}

TEST(AttentionFileTest, AnotherTextIsRefused) {
  const std::string whole(kOneMap);
  const auto with = [&whole](const std::string& from, const std::string& to) {
    std::string text = whole;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"maps\":{}}"),
        whole.substr(0, whole.size() / 2), with("\"title\"", "\"name\""),
        with("[\"le\",\"chat\"]", "[\"le\"]"), with("\"cat\",", "3,"),
        with("0.5,", ""), with("0.5", "\"x\""), with("[1,2]", "[1,3]"),
        with("[1,2]", "[-1,2]"), with("[1,2]", "[1]"), with("[1,2]", "1")}) {
    EXPECT_THAT(ParseAttentionJson(text),
                StatusIs(absl::StatusCode::kInvalidArgument, _))
        << text;
  }
}

TEST(AttentionFileTest, AcceptsNoMaps) {
  const auto maps = ParseAttentionJson("{\"maps\":[]}");
  ASSERT_THAT(maps, IsOk());
  EXPECT_THAT(*maps, IsEmpty());
}

}  // namespace
}  // namespace regard
