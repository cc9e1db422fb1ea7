#include "experiments/config/config_fields.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/config/test_config.pb.h"
#include "experiments/config/test_extension.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::regard::testing::TestConfig;
using ::testing::ElementsAre;

// "path: value" of each, with quotes around text.
std::vector<std::string> Leaves(const std::string& text) {
  google::protobuf::LinkMessageReflection<lab::MyScore>();
  TestConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  std::vector<std::string> lines;
  for (const ConfigLeaf& leaf : ConfigLeaves(config)) {
    std::string value;
    if (const auto* number = std::get_if<double>(&leaf.value)) {
      value = absl::StrCat(*number);
    } else if (const auto* truth = std::get_if<bool>(&leaf.value)) {
      value = *truth ? "true" : "false";
    } else {
      value = absl::StrCat("'", std::get<std::string>(leaf.value), "'");
    }
    lines.push_back(absl::StrCat(leaf.path, ": ", value));
  }
  return lines;
}

TEST(ConfigLeavesTest, DefaultsAreInForceToo) {
  EXPECT_THAT(Leaves(""), ElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                                      "task: 'TRANSLATION'"));
}

TEST(ConfigLeavesTest, KeepTheirTypes) {
  EXPECT_THAT(
      Leaves("seed: 3 rate: inf shuffle: false data_path: 'a\"b' "
             "task: REGRESSION tolerance: 4.9e-324"),
      ElementsAre("seed: 3", "rate: inf", "tolerance: 4.94066e-324",
                  "shuffle: false", "data_path: 'a\"b'", "task: 'REGRESSION'"));
}

TEST(ConfigLeavesTest, AMemberOfAOneofIsNamedThoughItIsEmpty) {
  EXPECT_THAT(Leaves("sgd {}"),
              ElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                          "task: 'TRANSLATION'", "optimizer: 'sgd'"));
}

TEST(ConfigLeavesTest, GoIntoMessagesListsAndExtensions) {
  EXPECT_THAT(Leaves("sizes: [5, 6] model { layers { heads: 2 } layers {} "
                     "outside { [lab.my_score] { width: 7 } } }"),
              ElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                          "task: 'TRANSLATION'", "model.width: 32",
                          "model.dropout: 0.1", "model.layers[0].heads: 2",
                          "model.layers[1].heads: 4", "model.score: 'outside'",
                          "model.outside.[lab.my_score].width: 7",
                          "sizes[0]: 5", "sizes[1]: 6"));
}

}  // namespace
}  // namespace regard
