#include "data/text/labelled_text_source.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/text/labelled_text.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(WithWrongNumberTest, ChangesOneVerb) {
  constexpr char kSentence[] = "the cat that sees two dogs sleeps .";
  EXPECT_EQ(WithWrongNumber(kSentence, 0),
            "the cat that see two dogs sleeps .");
  EXPECT_EQ(WithWrongNumber(kSentence, 3),
            "the cat that sees two dogs sleep .");
  EXPECT_EQ(WithWrongNumber("dogs follow", 9), "dogs follows");
  EXPECT_DEATH(WithWrongNumber("the cat", 0), "no verb in 'the cat'");
}

class LabelledTextTest : public ::testing::Test {
 protected:
  static absl::StatusOr<LabelledTextData> Read(absl::string_view text,
                                               double dev = 0,
                                               double test = 0) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/text.txt");
    std::ofstream(path, std::ios::binary) << text;
    LabelledTextConfig config;
    config.set_dev_fraction(dev);
    config.set_test_fraction(test);
    return ReadLabelledText(path, config);
  }
  static std::string ErrorOf(absl::string_view text, double dev = 0) {
    return std::string(Read(text, dev).status().message());
  }
};

TEST_F(LabelledTextTest, SplitsLines) {
  const auto data = Read(
      "\xef\xbb\xbf"
      "yes\ta b\nno\tc\r\nyes\td e\nno\t\n",
      0.25, 0.25);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->splits.labels, ElementsAre("yes", "no"));
  ASSERT_THAT(data->splits.train, SizeIs(2));
  EXPECT_EQ(data->splits.train[0].text, "a b");
  EXPECT_EQ(data->splits.train[1].text, "c");
  EXPECT_EQ(data->splits.train[1].label, 1);
  ASSERT_THAT(data->splits.dev, SizeIs(1));
  EXPECT_EQ(data->splits.dev[0].text, "d e");
  EXPECT_FALSE(data->splits.dev[0].second.has_value());
  ASSERT_THAT(data->splits.test, SizeIs(1));
  EXPECT_EQ(data->splits.test[0].text, "");
  EXPECT_THAT(data->digests, SizeIs(1));
}

TEST_F(LabelledTextTest, IgnoresBlankLines) {
  const auto data = Read("\n \nyes\ta\rno\tb\r\n\u00a0\t\n\n");
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->splits.train, SizeIs(2));
  EXPECT_THAT(
      data->notes,
      ElementsAre("data.path: 2 lines end in a carriage return, which is not "
                  "part of the text; 4 blank lines are ignored"));
}

TEST_F(LabelledTextTest, ReadsPairs) {
  const auto data = Read("yes\ta b\tc\nno\t\td\r\nno\te\t\n", 0.3);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_THAT(data->splits.train, SizeIs(2));
  EXPECT_EQ(data->splits.train[0].text, "a b");
  EXPECT_EQ(data->splits.train[0].second, "c");
  EXPECT_EQ(data->splits.train[1].text, "");
  EXPECT_EQ(data->splits.train[1].second, "d");
  EXPECT_EQ(data->splits.dev[0].second, "");
}

// If label and text are swapped in a file, each line may have its own label.
// Such a file must not take hours.
TEST_F(LabelledTextTest, TimeIsLinearInTheNumberOfLabels) {
  std::string text;
  for (int i = 1'000'000; i < 1'500'000; ++i) absl::StrAppend(&text, i, "\t\n");
  const auto data = Read(text);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_THAT(data->splits.labels, SizeIs(500'000));
  EXPECT_EQ(data->splits.labels[1234], "1001234");
  EXPECT_EQ(data->splits.train[1234].label, 1234);
}

TEST_F(LabelledTextTest, AFileCanBeOnlyATestSplit) {
  const auto data = Read("yes\ta\nyes\tb\n", 0, 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->splits.train, SizeIs(0));
  EXPECT_THAT(data->splits.dev, SizeIs(0));
  EXPECT_THAT(data->splits.test, SizeIs(2));
  EXPECT_THAT(data->splits.labels, ElementsAre("yes"));
}

TEST_F(LabelledTextTest, SaysWhereColumnsAreWrong) {
  EXPECT_EQ(ErrorOf("a\tb\nbcd\n").substr(::testing::TempDir().size()),
            "/text.txt:2:4: error: expected LABEL<TAB>TEXT, as in line 1; got "
            "0 tabs");
  EXPECT_THAT(ErrorOf("a\tb\nb\tcd\te\n"),
              HasSubstr("text.txt:2:5: error: expected LABEL<TAB>TEXT, as in "
                        "line 1; got 2 tabs"));
  EXPECT_THAT(
      ErrorOf("a\tb\tc\nb\tcd\n"),
      HasSubstr("text.txt:2:5: error: expected LABEL<TAB>TEXT<TAB>SECOND_TEXT, "
                "as in line 1; got 1 tabs"));
  EXPECT_THAT(ErrorOf("a\tb\tc\nb\tc\td\te\t\n"),
              HasSubstr("text.txt:2:6: error: expected"));
  EXPECT_THAT(ErrorOf("a\tb\tc\td\n"),
              HasSubstr("text.txt:1:4: error: expected LABEL<TAB>TEXT"));
  EXPECT_THAT(ErrorOf("a\tb\n\nb\n"),
              HasSubstr("text.txt:3:2: error: expected"));
  EXPECT_THAT(ErrorOf("a\tb\n\tb\n"),
              HasSubstr("text.txt:2:1: error: the label must not be empty"));
}

TEST_F(LabelledTextTest, ALineIsCapped) {
  const std::string longest = "a\tb\nb\t" + std::string(65534, 'x');
  EXPECT_EQ(ErrorOf(longest + "\r\n"), "");
  EXPECT_THAT(
      ErrorOf(longest + "x"),
      HasSubstr("text.txt:2:65537: error: the line is longer than 64 KiB"));
}

TEST_F(LabelledTextTest, SaysWhereAFileIsBroken) {
  EXPECT_THAT(ErrorOf("a\tb\nb\t\xff\n"),
              HasSubstr("text.txt:2:3: error: the text"));
  EXPECT_THAT(
      ErrorOf(absl::string_view("a\tb\nb\tb\0b\n", 10)),
      HasSubstr("text.txt:2:4: error: the text must not contain a NUL byte"));
  EXPECT_THAT(
      ErrorOf("a\tb\nb\tb\na\tc\nd\te", 0.25),
      HasSubstr(
          "text.txt:4:1: error: label 'd' must also occur in the training"));
  EXPECT_THAT(ErrorOf("a\tb\na\tb\n"),
              HasSubstr("must have at least two labels"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("text.txt:1:1: error:"));
}

}  // namespace
}  // namespace regard
