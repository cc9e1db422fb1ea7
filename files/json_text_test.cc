#include "files/json_text.h"

#include <limits>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(JsonTextTest, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(3), "3");
  EXPECT_EQ(JsonNumber(-0.0), "-0");
  EXPECT_EQ(JsonNumber(1e300), "1e+300");
  EXPECT_EQ(JsonNumber(2.0 / 3), "0.6666666666666666");
  EXPECT_EQ(JsonNumber(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(JsonTextTest, WhatJsonLacksIsNull) {
  EXPECT_EQ(JsonNumber(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(JsonNumber(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonTextTest, StringsAreEscaped) {
  EXPECT_EQ(JsonString("é\"\\\n\x1b"), "\"é\\\"\\\\\\n\\u001b\"");
  EXPECT_EQ(JsonString("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(JsonTextTest, NumbersAreOrderedByName) {
  EXPECT_EQ(JsonNumbers({{"b", 1}, {"a", 0.5}}), "{\"a\":0.5,\"b\":1}");
  EXPECT_EQ(JsonNumbers({}), "{}");
}

}  // namespace
}  // namespace regard
