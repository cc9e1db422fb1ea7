#include "experiments/config/diff.h"

#include <string>
#include <vector>

#include "experiments/config/test_config.pb.h"
#include "experiments/config/test_extension.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::regard::testing::TestConfig;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TestConfig Parse(const std::string& text) {
  lab::MyScore::default_instance();
  TestConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

// `path: before -> after` of each.
std::vector<std::string> Differences(const std::string& before,
                                     const std::string& after) {
  std::vector<std::string> lines;
  for (const ConfigDifference& difference :
       DiffConfigs(Parse(before), Parse(after))) {
    lines.push_back(difference.path + ": " + difference.before + " -> " +
                    difference.after);
  }
  return lines;
}

TEST(DiffConfigsTest, EqualConfigsDoNotDiffer) {
  EXPECT_THAT(Differences("", ""), IsEmpty());
  EXPECT_THAT(
      Differences("model { dot {} } sizes: 1", "sizes: 1 model { dot {} }"),
      IsEmpty());
}

TEST(DiffConfigsTest, DeclaredDefaultEqualsItsAbsence) {
  EXPECT_THAT(Differences("rate: 0.001", ""), IsEmpty());
  EXPECT_THAT(Differences("rate: 0.002", ""),
              ElementsAre("rate: 0.002 -> 0.001"));
}

TEST(DiffConfigsTest, ZeroDiffersFromNothingWhereNoDefaultIsDeclared) {
  EXPECT_THAT(Differences("steps: 0", ""), ElementsAre("steps: 0 -> not set"));
}

TEST(DiffConfigsTest, NamesNestedFields) {
  EXPECT_THAT(
      Differences("model { layers { heads: 1 } layers { heads: 2 } } seed: 2",
                  "model { layers { heads: 1 } layers { heads: 3 } } seed: 3"),
      ElementsAre("seed: 2 -> 3", "model.layers[1].heads: 2 -> 3"));
}

TEST(DiffConfigsTest, ListsOfDifferentLength) {
  EXPECT_THAT(Differences("sizes: [1, 2]", "sizes: [1, 3, 4]"),
              ElementsAre("sizes[1]: 2 -> 3", "sizes[2]: not set -> 4"));
  EXPECT_THAT(Differences("model { layers {} }", "model {}"),
              ElementsAre("model.layers[0]: {...} -> not set"));
}

TEST(DiffConfigsTest, OtherMemberOfAOneof) {
  EXPECT_THAT(Differences("sgd { momentum: 1 }", "adam {}"),
              ElementsAre("sgd: {...} -> not set", "adam: not set -> {...}"));
  EXPECT_THAT(Differences("other: ''", ""),
              ElementsAre("other: \"\" -> not set"));
}

TEST(DiffConfigsTest, Extensions) {
  EXPECT_THAT(
      Differences(
          "model { outside { [lab.my_score] { width: 8 } [lab.lags]: 1 } }",
          "model { outside { [lab.my_score] { } } }"),
      ElementsAre("model.outside.[lab.my_score].width: 8 -> 16",
                  "model.outside.[lab.lags][0]: 1 -> not set"));
}

TEST(DiffConfigsTest, LongValuesAreComparedInFullAndShownCut) {
  const std::string x(100, 'x');
  EXPECT_THAT(Differences("data_path: '" + x + "y'", "data_path: '" + x + "z'"),
              ElementsAre("data_path: \"" + std::string(59, 'x') + "... -> \"" +
                          std::string(59, 'x') + "..."));
}

}  // namespace
}  // namespace regard
