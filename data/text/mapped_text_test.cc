#include "data/text/mapped_text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;

TEST(TemporaryMappedTextTest, IsWhatWasWritten) {
  TemporaryMappedText mapped;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string piece = absl::StrCat("piece ", i, "\n");
    mapped.Append(piece);
    expected += piece;
  }
  mapped.Append("");
  ASSERT_THAT(mapped.FinishAndMap(), IsOk());
  EXPECT_EQ(mapped.text(), expected);
  mapped.AdviseNotNeeded();
  EXPECT_EQ(mapped.text(), expected);
}

TEST(TemporaryMappedTextTest, AcceptsEmptyText) {
  TemporaryMappedText mapped;
  ASSERT_THAT(mapped.FinishAndMap(), IsOk());
  EXPECT_EQ(mapped.text(), "");
  mapped.AdviseNotNeeded();
  TemporaryMappedText of_nothing;
  of_nothing.Append("");
  ASSERT_THAT(of_nothing.FinishAndMap(), IsOk());
  EXPECT_EQ(of_nothing.text(), "");
}

}  // namespace
}  // namespace regard
