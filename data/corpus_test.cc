#include "data/corpus.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/pairs/pairs.pb.h"
#include "data/sentence_pair.h"
#include "files/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PairsConfig FirstPairs(int64_t count) {
  PairsConfig options;
  options.set_max_pairs(count);
  return options;
}

absl::StatusOr<std::vector<SentencePair>> Read(
    const std::string& text, const PairsConfig& options = {}) {
  const std::string path = ::testing::TempDir() + "/pairs.txt";
  std::ofstream(path, std::ios::binary) << text;
  absl::StatusOr<Corpus> corpus = ReadCorpus(path, options);
  if (!corpus.ok()) return corpus.status();
  return std::move(corpus->pairs);
}

TEST(PrepareTextTest, DetachesMarksFromWords) {
  EXPECT_EQ(PrepareText("Stop, please!"), "stop , please !");
  EXPECT_EQ(PrepareText("Ready ?"), "ready ?");
  EXPECT_EQ(PrepareText("Wait..."), "wait . . .");
  EXPECT_EQ(PrepareText("...no"), ". . .no");
  EXPECT_EQ(PrepareText(""), "");
}

TEST(PrepareTextTest, LowersLettersOfAnyScript) {
  EXPECT_EQ(PrepareText("\xc3\x89T\xc3\x89"), "\xc3\xa9t\xc3\xa9");
  EXPECT_EQ(PrepareText("\xce\xa9\xd0\x96\xc5\x92"),
            "\xcf\x89\xd0\xb6\xc5\x93");
}

TEST(PrepareTextTest, TurnsNoBreakSpacesIntoSpaces) {
  EXPECT_EQ(PrepareText("Va\xe2\x80\xaf!"), "va !");
  EXPECT_EQ(PrepareText("a\xc2\xa0"
                        "b"),
            "a b");
}

TEST(PrepareTextTest, ComposesAccents) {
  EXPECT_EQ(PrepareText("E\xcc\x81te\xcc\x81"), "\xc3\xa9t\xc3\xa9");
}

TEST(SplitTokensTest, HasNoEmptyTokens) {
  EXPECT_THAT(SplitTokens("  a  b ."), ElementsAre("a", "b", "."));
  EXPECT_THAT(SplitTokens(" "), IsEmpty());
}

TEST(ReadCorpusTest, ReadsPairsInOrder) {
  const auto pairs = Read("One two.\tUn deux.\nThree!\tTrois !\n");
  ASSERT_THAT(pairs, IsOk());
  ASSERT_THAT(*pairs, SizeIs(2));
  EXPECT_THAT((*pairs)[0].source, ElementsAre("one", "two", "."));
  EXPECT_THAT((*pairs)[0].target, ElementsAre("un", "deux", "."));
  EXPECT_THAT((*pairs)[0].alignment, IsEmpty());
  EXPECT_THAT((*pairs)[1].target, ElementsAre("trois", "!"));
}

TEST(ReadCorpusTest, TakesEitherColumnAsTheSource) {
  PairsConfig options;
  options.set_source_column(1);
  options.set_target_column(0);
  const auto pairs = Read("un\tone\tCC-BY\n", options);
  ASSERT_THAT(pairs, IsOk());
  EXPECT_THAT(pairs->front().source, ElementsAre("one"));
  EXPECT_THAT(pairs->front().target, ElementsAre("un"));
}

TEST(ReadCorpusTest, IsIndifferentToHowLinesEnd) {
  const auto pairs = Read(
      "\xef\xbb\xbf"
      "a\tb\r\n\r\n\nc\td");
  ASSERT_THAT(pairs, IsOk());
  ASSERT_THAT(*pairs, SizeIs(2));
  EXPECT_THAT((*pairs)[0].source, ElementsAre("a"));
  EXPECT_THAT((*pairs)[0].target, ElementsAre("b"));
  EXPECT_THAT((*pairs)[1].target, ElementsAre("d"));
}

TEST(ReadCorpusTest, StopsAfterMaxPairs) {
  const std::string text = "a\tb\nc\td\nno tab here\n";
  EXPECT_THAT(*Read(text, FirstPairs(1)), SizeIs(1));
  EXPECT_THAT(*Read(text, FirstPairs(2)), SizeIs(2));
  EXPECT_FALSE(Read(text, FirstPairs(3)).ok());
}

struct Malformed {
  std::string text;
  std::string message;
};

class MalformedCorpusTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedCorpusTest, IsALocatedError) {
  EXPECT_THAT(Read(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, MalformedCorpusTest,
    ::testing::Values(
        Malformed{"", "pairs.txt:1:1: error: the file is empty"},
        Malformed{"\n\n", "pairs.txt:1:1: error: the file has no sentence"},
        Malformed{"a\tb\nabc\n", "pairs.txt:2:4: error: want a tab"},
        Malformed{"a\tb\n\tc\n", "pairs.txt:2:1: error: the source sentence"},
        Malformed{"abc\t \n", "pairs.txt:1:5: error: the target sentence"},
        Malformed{"a\tb\nc\tx\xffy\n", "pairs.txt:2:4: error: bytes that are"},
        Malformed{"\xef\xbb\xbf\xff\tb\n", "pairs.txt:1:4: error: bytes"},
        Malformed{std::string("a\0\tb\n", 5), "pairs.txt:1:2: error: NUL"},
        Malformed{"a\tb\n" + std::string(70000, 'x'),
                  "pairs.txt:2:65537: error: line of more than 64 KiB"}));

TEST(ReadCorpusTest, AcceptsTheLongestLine) {
  const std::string longest = "a\t" + std::string(65534, 'b');
  EXPECT_THAT(Read(longest), IsOk());
  EXPECT_THAT(Read(longest + "\n"), IsOk());
  EXPECT_FALSE(Read(longest + "b").ok());
  EXPECT_FALSE(Read(longest + "b\n").ok());
}

TEST(ReadCorpusTest, MissingFileSaysWhereCorporaComeFrom) {
  EXPECT_THAT(
      ReadCorpus("/nowhere/fra.txt", {}),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("/nowhere/fra.txt: cannot open: No such file"),
                     HasSubstr("www.manythings.org/anki"), HasSubstr("fra-eng"),
                     HasSubstr("--set data.path="))));
  EXPECT_THAT(ReadCorpus("", {}), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("--set data.path=")));
}

TEST(ReadCorpusTest, DirectoryIsAnError) {
  EXPECT_THAT(ReadCorpus(::testing::TempDir(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a directory")));
}

TEST(ReadCorpusTest, DigestIsThatOfTheWholeFile) {
  const std::string path = ::testing::TempDir() + "/corpus.txt";
  const std::string text = "A.\tB.\nC\tD\n" + std::string(200000, 'x');
  std::ofstream(path) << text;
  const auto corpus = ReadCorpus(path, FirstPairs(1));
  ASSERT_THAT(corpus, IsOk());
  EXPECT_THAT(corpus->pairs, SizeIs(1));
  EXPECT_EQ(corpus->sha256, Sha256Hex(text));
}

// Sparse: the file takes no room on the disk.
TEST(ReadCorpusTest, AFileOfAnySizeIsReadWhereTheFirstPairsAreWanted) {
  const std::string path = ::testing::TempDir() + "/large.txt";
  std::ofstream(path) << "A.\tB.\nC\tD\n";
  std::filesystem::resize_file(path, uintmax_t{300} << 20);
  EXPECT_THAT(ReadCorpus(path, FirstPairs(2)), IsOk());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace regard
