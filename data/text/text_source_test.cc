#include "data/text/text_source.h"

#include <algorithm>
#include <any>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "data/data.pb.h"
#include "data/data_source.h"
#include "data/text/text.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"

namespace regard {

extern "C" void RegisterTextSourceInDataSourceRegistry(
    DataSourceRegistry& sources);

namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TextConfig Shares(double dev, double test, bool whole_lines = false) {
  TextConfig config;
  config.set_dev_fraction(dev);
  config.set_test_fraction(test);
  config.set_whole_lines(whole_lines);
  return config;
}

TEST(SplitTextTest, CountsCharacters) {
  // There are twelve characters, and one of them has two bytes.
  const TextSplits splits = SplitText("ab\u00e9defghijkl", Shares(0.25, 0.25));
  EXPECT_EQ(splits.train, "ab\u00e9def");
  EXPECT_EQ(splits.dev, "ghi");
  EXPECT_EQ(splits.test, "jkl");
}

TEST(SplitTextTest, TheLastTenthIsRoundedUp) {
  // Training has int(0.9 * n) characters, as in nanoGPT.
  const TextSplits splits = SplitText(std::string(1115394, 'x'), TextConfig());
  EXPECT_EQ(splits.train.size(), 1003854);
  EXPECT_EQ(splits.dev.size(), 111540);
  EXPECT_EQ(splits.test, "");
}

TEST(SplitTextTest, WholeLinesAreNotCut) {
  const absl::string_view text = "abcd\nefgh\nijkl\n";
  EXPECT_EQ(SplitText(text, Shares(0.4, 0, true)).train, "abcd\nefgh\n");
  EXPECT_EQ(SplitText(text, Shares(0.4, 0, true)).dev, "ijkl\n");
  // The split already starts at the beginning of a line, so it does not move.
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

TEST_F(ReadTextFileTest, EveryLineEndsWithANewline) {
  const std::string path = Write("ab\r\nc\rd\n\r");
  TextConfig config;
  config.set_dev_fraction(0);
  const auto data = ReadTextFile(path, config);
  EXPECT_EQ(data->splits.train, "ab\nc\nd\n\n");
  EXPECT_THAT(data->notes, testing::ElementsAre(testing::EndsWith(
                               ": 3 lines end in a carriage return, which is "
                               "not part of the text")));
  // Before data.text_version existed, carriage returns were kept.
  EXPECT_EQ(ReadTextFile(path, config, LineEnds::kNewline)->splits.train,
            "ab\r\nc\rd\n\r");
}

TEST_F(ReadTextFileTest, SaysWhereAFileIsBroken) {
  EXPECT_THAT(ErrorOf("ab\nc\xff"),
              HasSubstr("text.txt:2:2: error: the text must be valid UTF-8"));
  EXPECT_THAT(
      ErrorOf(absl::string_view("a\0b", 3)),
      HasSubstr("text.txt:1:2: error: the text must not contain a NUL byte"));
  EXPECT_THAT(ErrorOf("a"), HasSubstr("text.txt:1:1: error: no text is left"));
  EXPECT_THAT(ErrorOf(""),
              HasSubstr("text.txt:1:1: error: the file must not be empty"));
  EXPECT_THAT(ErrorOf("\xef\xbb\xbf"), HasSubstr("the file must not be empty"));
  EXPECT_THAT(ReadTextFile("nowhere.txt", TextConfig()).status().message(),
              HasSubstr("error: text nowhere.txt: cannot open"));
}

TEST(TextSourceTest, AllOfAFileMayBeTest) {
  DataSourceRegistry sources;
  RegisterTextSourceInDataSourceRegistry(sources);
  Data config;
  *config.mutable_text() = Shares(0, 1);
  EXPECT_EQ(sources.Find(config)->path(config.text()),
            DataPathRequirement::kOptional);
  const auto source = sources.Create(config);
  const std::string path = absl::StrCat(::testing::TempDir(), "/all_test");
  std::ofstream(path) << "ab\u00e9";
  const auto data = std::any_cast<TextData>(*source->LoadAny({.path = path}));
  EXPECT_EQ(data.splits.train, "");
  EXPECT_EQ(data.splits.dev, "");
  EXPECT_EQ(data.splits.test, "ab\u00e9");
  EXPECT_THAT(std::string(source->LoadAny({.path = ""}).status().message()),
              HasSubstr("error: data.path names no text file"));
  // If test_fraction is not 1, there must be text to train on.
  *config.mutable_text() = Shares(0.9, 0);
  std::ofstream(path) << "a";
  EXPECT_THAT(
      std::string(
          sources.Create(config)->LoadAny({.path = path}).status().message()),
      HasSubstr("no text is left for training"));
}

TEST(PlaceholderTextTest, CyclesThroughItsCharacters) {
  DataSourceRegistry sources;
  RegisterTextSourceInDataSourceRegistry(sources);
  Data config;
  config.mutable_placeholder_text()->set_vocabulary(3);
  config.mutable_placeholder_text()->set_characters(4);
  EXPECT_EQ(std::any_cast<TextData>(
                *sources.Create(config)->LoadAny({.path = "", .seed = 1}))
                .splits.train,
            "\U00010000\U00010001\U00010002\U00010000");
}

class RepeatedTokensTest : public ::testing::Test {
 protected:
  RepeatedTokensTest() {
    RegisterTextSourceInDataSourceRegistry(sources_);
    options().set_train(60);
    options().set_dev(2);
    options().set_test(0);
    options().set_symbols(5);
    options().set_length(3);
    options().set_most_before(1);
    options().set_most_gap(2);
  }

  RepeatedTokensConfig& options() { return *config_.mutable_repeated_tokens(); }
  TextSplits Load(uint64_t seed) const {
    return std::any_cast<TextData>(
               *sources_.Create(config_)->LoadAny({.path = "", .seed = seed}))
        .splits;
  }

  DataSourceRegistry sources_;
  Data config_;
};

using Words = std::vector<std::string>;

std::vector<Words> LinesOf(const std::string& text) {
  std::vector<Words> lines;
  for (const auto line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(absl::StrSplit(line, ' '));
  }
  return lines;
}

TEST_F(RepeatedTokensTest, EndsWithARepeatedSequence) {
  std::set<std::pair<int, int>> layouts;  // (words before, words between)
  std::set<Words> stretches;
  const std::vector<Words> lines = LinesOf(Load(3).train);
  EXPECT_EQ(lines.size(), 60);
  for (const Words& line : lines) {
    const auto second = line.end() - 3;
    const auto first = std::search(line.begin(), second, second, line.end());
    ASSERT_NE(first, second);
    layouts.emplace(first - line.begin(), second - first - 3);
    stretches.emplace(second, line.end());
    EXPECT_EQ(std::set<std::string>(second, line.end()).size(), 3);
    for (const std::string& word : line) {
      EXPECT_THAT(word, AnyOf("0", "1", "2", "3", "4"));
    }
  }
  EXPECT_THAT(layouts, ElementsAre(Pair(0, 0), Pair(0, 1), Pair(0, 2),
                                   Pair(1, 0), Pair(1, 1), Pair(1, 2)));
  EXPECT_GT(stretches.size(), 30);
}

TEST_F(RepeatedTokensTest, IsAFunctionOfSeedAndSplit) {
  const TextSplits splits = Load(3);
  EXPECT_EQ(LinesOf(splits.dev).size(), 2);
  EXPECT_EQ(splits.test, "");
  EXPECT_EQ(splits.train, Load(3).train);
  EXPECT_NE(splits.train, Load(4).train);
  EXPECT_NE(splits.train.substr(0, 20), splits.dev.substr(0, 20));
}

// The generated text must be the same in all versions of Regard.
TEST_F(RepeatedTokensTest, GeneratesTheSameTextInAllVersions) {
  options().set_train(3);
  EXPECT_EQ(Load(3).train, "0 0 3 4 0 3 4\n1 4 0 1 4 0\n1 4 2 1 4 1 4 2 1\n");
}

TEST_F(RepeatedTokensTest, MakesNoMoreThanMemoryHolds) {
  options().set_train(1000000);
  options().set_symbols(30);
  options().set_length(30);
  options().set_most_before(0);
  options().set_most_gap(0);
  ConfigProblems problems;
  sources_.ValidateChoice(config_, problems);
  EXPECT_TRUE(problems.ok());
  options().set_most_gap(8);
  sources_.ValidateChoice(config_, problems);
  ASSERT_EQ(problems.problems().size(), 1);
  EXPECT_EQ(problems.problems()[0].path, "repeated_tokens.train");
  EXPECT_THAT(problems.problems()[0].message,
              ::testing::HasSubstr("words; at most 67108864"));
}

TEST_F(RepeatedTokensTest, RequiresASymbolForEachWordOfTheSequence) {
  options().set_symbols(3);
  ConfigProblems problems;
  sources_.ValidateChoice(config_, problems);
  EXPECT_TRUE(problems.ok());
  for (const Words& line : LinesOf(Load(0).train)) {
    EXPECT_EQ(std::set<std::string>(line.begin(), line.end()).size(), 3);
  }
  options().set_symbols(2);
  options().set_most_gap(-1);
  sources_.ValidateChoice(config_, problems);
  ASSERT_EQ(problems.problems().size(), 2);
  EXPECT_EQ(problems.problems()[0].path, "repeated_tokens.most_gap");
  EXPECT_EQ(problems.problems()[1].path, "repeated_tokens.symbols");
}

}  // namespace
}  // namespace regard
