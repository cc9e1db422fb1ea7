#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/reader.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::EndsWith;

void Read(absl::string_view text, const std::string& name,
          ConfigOrigins* origins) {
  testing::TestConfig config;
  EXPECT_THAT(ReadText(ConfigTextWithOrigin::File(name, std::string(text)),
                       &config, origins),
              IsOk());
}

ConfigOrigins OriginsOf(absl::string_view text) {
  google::protobuf::LinkMessageReflection<lab::MyScore>();
  ConfigOrigins origins;
  Read(text, "a.textproto", &origins);
  return origins;
}

std::string Located(const ConfigOrigins& origins, absl::string_view path) {
  ConfigProblems problems;
  problems.Add(path, "is wrong");
  return std::string(LocateProblems(problems, origins).message());
}

TEST(LocateProblemsTest, NoProblemIsOk) {
  EXPECT_THAT(LocateProblems(ConfigProblems(), OriginsOf("seed: 3")), IsOk());
}

TEST(LocateProblemsTest, PointsAtTheNameOfTheField) {
  const ConfigOrigins origins = OriginsOf(
      "seed: 3\nmodel {\n  layers {}\n  layers { heads: 3 }\n"
      "  outside { [lab.my_score] { width: 8 } [lab.lags]: [1, 2] }\n}\n");
  EXPECT_EQ(Located(origins, "model.layers[1].heads"),
            "a.textproto:4:12: error: model.layers[1].heads: is wrong\n"
            "    layers { heads: 3 }\n"
            "             ^~~~~");
  EXPECT_EQ(Located(origins, "model.outside.[lab.my_score].width"),
            "a.textproto:5:30: error: model.outside.[lab.my_score].width: is "
            "wrong\n"
            "    outside { [lab.my_score] { width: 8 } [lab.lags]: [1, 2] }\n"
            "                               ^~~~~");
  EXPECT_EQ(Located(origins, "model.outside.[lab.lags][1]"),
            "a.textproto:5:41: error: model.outside.[lab.lags][1]: is wrong\n"
            "    outside { [lab.my_score] { width: 8 } [lab.lags]: [1, 2] }\n"
            "                                          ^~~~~~~~~~");
}

TEST(LocateProblemsTest, AbsentFieldsAreReportedAtTheEnclosingMessage) {
  const ConfigOrigins origins =
      OriginsOf("seed: 3\n\nmodel {\n  layers {}\n}\n");
  const std::string model = "\n  model {\n  ^~~~~";
  EXPECT_EQ(Located(origins, "model.width"),
            "a.textproto:3:1: error: model.width: is wrong" + model);
  EXPECT_EQ(Located(origins, "model.dot.scale"),
            "a.textproto:3:1: error: model.dot.scale: is wrong" + model);
  EXPECT_EQ(Located(origins, "model.layers[7].heads"),
            "a.textproto:4:3: error: model.layers[7].heads: is wrong\n"
            "    layers {}\n"
            "    ^~~~~~");
  EXPECT_EQ(Located(origins, "rate"),
            "a.textproto:1:1: error: rate: is wrong\n"
            "  seed: 3\n"
            "  ^");
  EXPECT_EQ(Located(origins, ""),
            "a.textproto:1:1: error: is wrong\n"
            "  seed: 3\n"
            "  ^");
}

TEST(LocateProblemsTest, PointsIntoAnOverride) {
  ConfigOrigins origins = OriginsOf("seed: 3");
  origins.Add(ConfigTextWithOrigin::Override("seed=-1"));
  origins.RecordOrigin(
      {.field = testing::TestConfig::descriptor()->field(1), .range = {0, 4}});
  EXPECT_EQ(Located(origins, "seed"),
            "--set: error: seed: is wrong\n"
            "  seed=-1\n"
            "  ^~~~");
  EXPECT_EQ(Located(origins, "rate"),
            "a.textproto:1:1: error: rate: is wrong\n"
            "  seed: 3\n"
            "  ^");
}

TEST(LocateProblemsTest, PointsIntoAString) {
  ConfigOrigins origins = OriginsOf("seed: 3\ndata_path: 'a\\142c' \"de\"");
  ConfigProblems problems;
  problems.AddWithin("data_path", {1, 2}, "is wrong");
  EXPECT_EQ(LocateProblems(problems, origins).message(),
            "a.textproto:2:14: error: data_path: is wrong\n"
            "  data_path: 'a\\142c' \"de\"\n"
            "               ^~~~~");
}

TEST(LocateProblemsTest, ShowsTwentyProblemsAndCountsTheRest) {
  ConfigProblems problems;
  for (int i = 0; i < 25; ++i) problems.Add("seed", "is wrong");
  EXPECT_THAT(LocateProblems(problems, OriginsOf("seed: 3")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       EndsWith("\n5 more problems are not shown")));
}

TEST(ConfigOriginsTest, AnotherListForgetsTheOldElements) {
  ConfigOrigins origins = OriginsOf("sizes: [1, 2]\nseed: 3");
  EXPECT_EQ(origins.Find("sizes[1]"), "a.textproto:1");
  Read("sizes: 4", "b.textproto", &origins);
  EXPECT_EQ(origins.Find("sizes[0]"), "b.textproto:1");
  EXPECT_EQ(origins.Find("sizes[1]"), std::nullopt);
  EXPECT_EQ(origins.Find("seed"), "a.textproto:2");
}

}  // namespace
}  // namespace regard
