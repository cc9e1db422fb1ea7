#include "files/json_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(JsonTextTest, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(JsonText(0.1), "0.1");
  EXPECT_EQ(JsonText(3.0), "3");
  EXPECT_EQ(JsonText(-0.0), "-0");
  EXPECT_EQ(JsonText(1e5), "1e+05");
  EXPECT_EQ(JsonText(1e300), "1e+300");
  EXPECT_EQ(JsonText(2.0 / 3), "0.6666666666666666");
  EXPECT_EQ(JsonText(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(JsonTextTest, ValuesThatJsonLacksAreNull) {
  EXPECT_EQ(JsonText(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(JsonText(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonTextTest, StringsAreEscaped) {
  EXPECT_EQ(JsonText("é\"\\\n\x1b"), "\"é\\\"\\\\\\n\\u001b\"");
  EXPECT_EQ(JsonText("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(JsonTextTest, FieldsAreInTheirOrderWithoutSpaces) {
  EXPECT_EQ(JsonText(std::map<std::string, double>{{"b", 1}, {"a", 0.5}}),
            "{\"a\":0.5,\"b\":1}");
  EXPECT_EQ(JsonText(std::map<std::string, double>{}), "{}");
  EXPECT_EQ(JsonText({{"z", true}, {"a", {1, -2}}, {"é", nullptr}}),
            "{\"z\":true,\"a\":[1,-2],\"é\":null}");
}

std::string ParseError(absl::string_view text) {
  return std::string(JsonFile::Parse(text, "a.json").status().message());
}

TEST(JsonFileTest, SaysWhereTextIsNotJson) {
  EXPECT_EQ(ParseError("{\n  \"a\": 1,\n  \"b\": x\n}"),
            "a.json:3:8: error: not JSON from here on");
  EXPECT_EQ(ParseError("{\n  \"a\": 1"),
            "a.json:2:9: error: not JSON: the text ends too soon");
  EXPECT_EQ(ParseError(""),
            "a.json:1:1: error: not JSON: the text ends too soon");
  EXPECT_EQ(ParseError("{\"a\": [1, NaN]}"),
            "a.json:1:11: error: NaN is not a JSON number");
  EXPECT_EQ(ParseError("{\"a\": -Infinity}"),
            "a.json:1:8: error: Infinity is not a JSON number");
  EXPECT_EQ(ParseError("{\"a\": [1e999]}"),
            "a.json:1:12: error: the number is too large");
  EXPECT_EQ(ParseError("{} {}"), "a.json:1:4: error: not JSON from here on");
  EXPECT_EQ(ParseError("{\"a\": \"\xff\"}"),
            "a.json:1:8: error: not JSON from here on");
  EXPECT_EQ(ParseError("{\"a\": {\"b\": 1, \"\\u0062\": 2}}"),
            "a.json:1:24: error: 'b' occurs twice");
  EXPECT_EQ(ParseError("[1]"),
            "a.json:1:1: error: the text must be a JSON object");
  EXPECT_EQ(ParseError("{\"a\":" + std::string(1000, '[')),
            "a.json:1:105: error: more than 100 nested brackets, the limit");
}

// A 64 MiB file of such values would take gigabytes of memory.
TEST(JsonFileTest, RefusesMoreValuesThanAnyFileNeeds) {
  std::string text = "{\"a\":[0";
  for (int i = 0; i < 4'200'000; ++i) text += ",0";
  EXPECT_EQ(ParseError(text + "]}"),
            "a.json:1:8388613: error: more than 4194304 values, the limit");
}

TEST(JsonFileTest, ReadsFields) {
  auto file = JsonFile::Parse(
      R"({"b": true, "i": 3, "r": 0.5, "s": "x", "n": null,
          "t": {"content": "y"}, "o": [{"s": "z"}],
          "m": {"u": "v"}, "k": [0, 7], "d": {"u": 0.5, "n": null},
          "l": ["p", "q"], "any": [1, "", {}, null]})",
      "a.json");
  ASSERT_THAT(file, IsOk());
  const JsonObject json = file->root();
  EXPECT_EQ(json.Bool("b"), true);
  EXPECT_EQ(json.Bool("n", true), true);
  EXPECT_TRUE(json.Has("b"));
  EXPECT_FALSE(json.Has("n"));
  EXPECT_FALSE(json.Has("absent"));
  EXPECT_EQ(json.Integer("i", std::nullopt, 1, 3), 3);
  EXPECT_EQ(json.Integer("absent", 7, 1, 3), 7);
  EXPECT_EQ(json.Real("r", 1, 0, 1), 0.5);
  EXPECT_EQ(json.Choice("s", {"w", "x"}), 1);
  EXPECT_EQ(json.Text("s"), "x");
  EXPECT_EQ(json.Choice("absent", {"w", "x"}, 1), 1);
  EXPECT_EQ(json.Object("t")->Text("content"), "y");
  EXPECT_THAT(json.Texts("m"), ElementsAre(Pair("u", "v")));
  EXPECT_EQ(json.Numbers("d").at("u"), 0.5);
  EXPECT_TRUE(std::isnan(json.Numbers("d").at("n")));
  EXPECT_THAT(json.Counts("k"), ElementsAre(0, 7));
  EXPECT_THAT(json.TextList("l"), ElementsAre("p", "q"));
  EXPECT_THAT(json.Array("any"), SizeIs(4));
  ASSERT_THAT(json.Objects("o"), SizeIs(1));
  EXPECT_EQ(json.Objects("o")[0].Text("s"), "z");
  EXPECT_THAT(json.Texts("absent"), IsEmpty());
  EXPECT_THAT(file->status(), IsOk());
}

TEST(JsonFileTest, NamesEachWrongFieldAtItsValue) {
  auto file = JsonFile::Parse(
      "{\n"
      "  \"b\": \"b\",\n"
      "  \"i\": \"i\", \"r\": 2,\n"
      "  \"inner\": {\"s\": 1, \"x\": {\"t\": 0}, \"t\" : {\"content\": 5}},\n"
      "  \"s\": []\n"
      "}",
      "a.json");
  ASSERT_THAT(file, IsOk());
  const JsonObject json = file->root();
  EXPECT_EQ(json.Bool("b", true), true);
  EXPECT_EQ(json.Integer("i", 4, 1, 9), 4);
  EXPECT_EQ(json.Real("r", 0.5, 0, 1), 0.5);
  EXPECT_EQ(json.Integer("absent", std::nullopt, 1, 9), 1);
  const auto inner = json.Object("inner");
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ(inner->Text("s"), "");
  EXPECT_EQ(inner->Object("t")->Text("content"), "");
  EXPECT_FALSE(json.Object("s").has_value());
  EXPECT_EQ(json.Choice("s", {"w", "x"}), 0);
  EXPECT_EQ(json.Choice("s", {}), 0);
  EXPECT_THAT(
      file->status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "a.json:2:8: error: b must be true or false, but is \"b\"\n"
               "a.json:3:8: error: i must be an integer from 1 to 9, but is "
               "\"i\"\n"
               "a.json:3:18: error: r must be a number from 0 to 1, but is 2\n"
               "a.json:1:1: error: absent is missing\n"
               "a.json:4:18: error: s must be a string, but is 1\n"
               "a.json:4:54: error: content must be a string, but is 5\n"
               "a.json:5:8: error: s must be an object, but is []\n"
               "a.json:5:8: error: s must be one of w, x, but is []\n"
               "a.json:5:8: error: s must be one of , but is []"));
}

TEST(JsonFileTest, NamesInAFileAreEscapedAndWhole) {
  auto file = JsonFile::Parse(
      R"({"a": {"\u001b[2J": 1, "x": "", "x\u0000": null}})", "a.json");
  ASSERT_THAT(file, IsOk());
  file->root().Texts("a");
  EXPECT_THAT(
      file->status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "a.json:1:21: error: \\x1b[2J must be a string, but is 1\n"
               "a.json:1:44: error: x\\x00 is missing"));
}

TEST(JsonFileTest, AnAbsentFieldWithoutADefaultIsAProblem) {
  auto file = JsonFile::Parse("\n{\"n\": null}", "a.json");
  ASSERT_THAT(file, IsOk());
  const JsonObject json = file->root();
  EXPECT_EQ(json.Bool("n"), false);
  EXPECT_EQ(json.Text("n"), "");
  EXPECT_EQ(json.Integer("i", {}, 2), 2);
  EXPECT_EQ(json.Choice("c", {"w", "x"}), 0);
  EXPECT_THAT(json.Numbers("m"), IsEmpty());
  EXPECT_THAT(json.Counts("k"), IsEmpty());
  EXPECT_THAT(json.TextList("l"), IsEmpty());
  EXPECT_THAT(json.Objects("o"), IsEmpty());
  EXPECT_THAT(json.Array("a"), IsEmpty());
  EXPECT_THAT(file->status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       "a.json:2:7: error: n is missing\n"
                                       "a.json:2:7: error: n is missing\n"
                                       "a.json:2:1: error: i is missing\n"
                                       "a.json:2:1: error: c is missing\n"
                                       "a.json:2:1: error: m is missing\n"
                                       "a.json:2:1: error: k is missing\n"
                                       "a.json:2:1: error: l is missing\n"
                                       "a.json:2:1: error: o is missing\n"
                                       "a.json:2:1: error: a is missing"));
}

// Locating each of millions of problems would take hours.
TEST(JsonFileTest, GathersSomeProblemsOnly) {
  std::string text = "{\"a\": {\"0\": 0";
  for (int i = 1; i < 1000; ++i) absl::StrAppend(&text, ", \"", i, "\": 0");
  auto file = JsonFile::Parse(text + "}}", "a.json");
  ASSERT_THAT(file, IsOk());
  file->root().Texts("a");
  const std::string problems(file->status().message());
  EXPECT_EQ(1 + std::count(problems.begin(), problems.end(), '\n'),
            static_cast<int64_t>(JsonFile::kMaxProblems));
}

TEST(JsonFileTest, NamesWhatIsWrongInsideArraysAndLines) {
  auto file = JsonFile::Parse(
      R"({"o": [{}, {"t": {"x": 1}, "d": {"y": "z"}}], "p": [1],)"
      R"( "i": 18446744073709551615, "k": [1, -1], "l": ["", 2], "n": 3})",
      "a.json", /*line=*/7);
  ASSERT_THAT(file, IsOk());
  const JsonObject json = file->root();
  const std::vector<JsonObject> objects = json.Objects("o");
  ASSERT_THAT(objects, SizeIs(2));
  objects[0].Require("s");
  objects[1].Require("s");
  objects[1].Require("t");
  EXPECT_THAT(objects[1].Texts("t"), SizeIs(1));
  EXPECT_THAT(objects[1].Numbers("d"), SizeIs(1));
  EXPECT_THAT(json.Objects("p"), IsEmpty());
  EXPECT_EQ(json.Integer("i"), 0);
  EXPECT_THAT(json.Counts("k"), IsEmpty());
  EXPECT_THAT(json.TextList("l"), IsEmpty());
  EXPECT_THAT(json.Array("n"), IsEmpty());
  EXPECT_THAT(
      file->status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "a.json:7:8: error: s is missing\n"
               "a.json:7:12: error: s is missing\n"
               "a.json:7:24: error: x must be a string, but is 1\n"
               "a.json:7:39: error: y must be a number, but is \"z\"\n"
               "a.json:7:52: error: p must be an array of objects, but is [1]\n"
               "a.json:7:62: error: i must be an integer from 0 to "
               "9223372036854775807, but is 18446744073709551615\n"
               "a.json:7:89: error: k must be an array of integers of at least "
               "0, but is [1,-1]\n"
               "a.json:7:103: error: l must be an array of strings, but is "
               "[\"\",2]\n"
               "a.json:7:117: error: n must be an array, but is 3"));
}

}  // namespace
}  // namespace regard
