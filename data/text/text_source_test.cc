#include "data/text/text_source.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/text/text.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

TextConfig Shares(double dev, double test, bool whole_lines = false) {
  TextConfig config;
  config.set_dev_fraction(dev);
  config.set_test_fraction(test);
  config.set_whole_lines(whole_lines);
  return config;
}

TEST(SplitTextTest, CountsCharacters) {
  // Twelve characters, one of two bytes.
  const TextSplits splits = SplitText("ab\u00e9defghijkl", Shares(0.25, 0.25));
  EXPECT_EQ(splits.train, "ab\u00e9def");
  EXPECT_EQ(splits.dev, "ghi");
  EXPECT_EQ(splits.test, "jkl");
}

TEST(SplitTextTest, TheLastTenthIsRoundedUp) {
  // As in nanoGPT, training has int(0.9 n) characters.
  const TextSplits splits = SplitText(std::string(1115394, 'x'), TextConfig());
  EXPECT_EQ(splits.train.size(), 1003854);
  EXPECT_EQ(splits.dev.size(), 111540);
  EXPECT_EQ(splits.test, "");
}

TEST(SplitTextTest, WholeLinesAreNotCut) {
  const absl::string_view text = "abcd\nefgh\nijkl\n";
  EXPECT_EQ(SplitText(text, Shares(0.4, 0, true)).train, "abcd\nefgh\n");
  EXPECT_EQ(SplitText(text, Shares(0.4, 0, true)).dev, "ijkl\n");
  // A share that begins with a line already.
  EXPECT_EQ(SplitText("a\nb\n", Shares(0.5, 0, true)).dev, "b\n");
  EXPECT_EQ(SplitText("abcdef", Shares(0.5, 0, true)).dev, "");
  EXPECT_EQ(SplitText("", Shares(0.5, 0, true)).train, "");
}

class ReadTextFileTest : public ::testing::Test {
 protected:
  std::string Write(absl::string_view text) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/text.txt");
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string ErrorOf(absl::string_view text) {
    return std::string(
        ReadTextFile(Write(text), TextConfig()).status().message());
  }
};

TEST_F(ReadTextFileTest, ReadsSplitsAndDigest) {
  const auto data = ReadTextFile(Write("\xef\xbb\xbf"
                                       "0123456789"),
                                 TextConfig());
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->splits.train, "012345678");
  EXPECT_EQ(data->splits.dev, "9");
  EXPECT_EQ(data->digests.at("data.path").size(), 64);
  EXPECT_EQ(data->entropy, 0);
}

TEST_F(ReadTextFileTest, SaysWhereAFileIsBroken) {
  EXPECT_THAT(ErrorOf("ab\nc\xff"),
              HasSubstr("text.txt:2:2: error: bytes that are not UTF-8"));
  EXPECT_THAT(ErrorOf(absl::string_view("a\0b", 3)),
              HasSubstr("text.txt:1:2: error: NUL byte"));
  EXPECT_THAT(ErrorOf("a"), HasSubstr("text.txt:1:1: error: the file is too"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("text.txt:1:1: error: the file is empty"));
  EXPECT_THAT(ErrorOf("\xef\xbb\xbf"), HasSubstr("the file is empty"));
  EXPECT_THAT(ReadTextFile("nowhere.txt", TextConfig()).status().message(),
              HasSubstr("error: text nowhere.txt: cannot open"));
}

}  // namespace
}  // namespace regard
