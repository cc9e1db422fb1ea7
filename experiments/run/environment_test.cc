#include "experiments/run/environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(EnvironmentTest, TextIsAsDocumented) {
  EXPECT_EQ(EnvironmentJson({.compiler = "GCC \"12\"",
                             .instruction_set = "x86-64-v3",
                             .mode = "opt",
                             .libraries = {{"b", "2"}, {"a", "1"}},
                             .data = {}}),
            "{\n"
            "  \"compiler\": \"GCC \\\"12\\\"\",\n"
            "  \"instruction_set\": \"x86-64-v3\",\n"
            "  \"mode\": \"opt\",\n"
            "  \"libraries\": {\n"
            "    \"a\": \"1\",\n"
            "    \"b\": \"2\"\n"
            "  },\n"
            "  \"data\": {}\n"
            "}\n");
}

TEST(EnvironmentTest, DigestsAreReadAgain) {
  Environment environment = BuildEnvironment();
  environment.data = {{"data.path", "00ff"}, {"a \"b\"", "1"}};
  EXPECT_EQ(ReadDataDigests(EnvironmentJson(environment)), environment.data);
  for (const char* text : {"", "[]", "{}", "{\"data\": 1}",
                           "{\"data\": {\"a\": 1}}", "{\"data\": {}"}) {
    EXPECT_FALSE(ReadDataDigests(text).has_value()) << text;
  }
}

TEST(EnvironmentTest, TheBuildIsDescribed) {
  const Environment environment = BuildEnvironment();
  EXPECT_THAT(environment.compiler, MatchesRegex(".*[0-9]+\\.[0-9]+.*"));
  EXPECT_THAT(environment.instruction_set, StartsWith("x86-64"));
  EXPECT_THAT(environment.libraries.at("eigen"), StartsWith("3."));
  EXPECT_THAT(environment.libraries.at("protobuf"), MatchesRegex("[0-9.]+"));
  EXPECT_FALSE(
      nlohmann::json::parse(EnvironmentJson(environment), nullptr, false)
          .is_discarded());
}

}  // namespace
}  // namespace regard
