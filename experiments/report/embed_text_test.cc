#include "absl/strings/string_view.h"
#include "experiments/report/chart_script.h"
#include "experiments/report/odd_bytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(EmbedTextTest, KeepsEveryByte) {
  constexpr char kExpected[] =
      "a\"b\\c?\?=\n\t0\0011\0002 \xc3\xa9 \xff"
      " end";
  EXPECT_EQ(OddBytes(), absl::string_view(kExpected, sizeof(kExpected) - 1));
}

TEST(EmbedTextTest, ChartScriptIsWholeAndCannotEndItsElement) {
  const std::string script(ChartScript());
  EXPECT_THAT(script, StartsWith("/*!\n * Chart.js v3."));
  EXPECT_THAT(script, HasSubstr("MIT License"));
  EXPECT_THAT(script, Not(HasSubstr("</script")));
  EXPECT_GT(script.size(), 100'000u);
}

}  // namespace
}  // namespace regard
