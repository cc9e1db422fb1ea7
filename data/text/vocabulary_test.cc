#include "data/text/vocabulary.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::string_view kReservedLines = "<unk>\n<pad>\n<bos>\n<eos>\n";

Vocabulary Counted(const std::vector<std::string>& tokens,
                   int64_t min_frequency = 1) {
  TokenCounts counts;
  counts.Add(tokens);
  return Vocabulary(counts, min_frequency);
}

TEST(VocabularyTest, StartsWithTheReservedTokens) {
  const Vocabulary vocabulary;
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_EQ(vocabulary.Id("<unk>"), Vocabulary::kUnknown);
  EXPECT_EQ(vocabulary.Id("<pad>"), Vocabulary::kPad);
  EXPECT_EQ(vocabulary.Id("<bos>"), Vocabulary::kBegin);
  EXPECT_EQ(vocabulary.Id("<eos>"), Vocabulary::kEnd);
}

TEST(VocabularyTest, OrdersByFrequencyThenFirstOccurrence) {
  const Vocabulary vocabulary =
      Counted({"zebra", "ant", "cow", "cow", "bee", "ant", "cow"});
  EXPECT_EQ(vocabulary.ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\ncow\nant\nzebra\nbee\n");
}

TEST(VocabularyTest, LeavesOutRareTokens) {
  const Vocabulary vocabulary = Counted({"a", "b", "b", "c", "c", "c"}, 2);
  EXPECT_EQ(vocabulary.size(), 6);
  EXPECT_EQ(vocabulary.Id("a"), Vocabulary::kUnknown);
  EXPECT_FALSE(vocabulary.HasTextToken("a"));
  EXPECT_EQ(vocabulary.Id("c"), 4);
  EXPECT_EQ(vocabulary.Id("b"), 5);
}

TEST(VocabularyTest, CountsOverAllSentences) {
  TokenCounts counts;
  counts.Add({"a"});
  counts.Add(std::vector<std::string>{});
  counts.Add({"b", "a"});
  EXPECT_EQ(Vocabulary(counts, 2).size(), 5);
  EXPECT_EQ(Vocabulary(counts, 3).size(), 4);
}

TEST(VocabularyTest, EncodesUnknownWordsAsUnknown) {
  const Vocabulary vocabulary = Counted({"go", "."});
  EXPECT_THAT(vocabulary.Encode({"go", "away", "."}), ElementsAre(4, 0, 5));
  EXPECT_THAT(vocabulary.Encode(std::vector<std::string>{}), IsEmpty());
}

TEST(VocabularyTest, TextCannotSpellReservedTokens) {
  const Vocabulary vocabulary = Counted({"<eos>", "<eos>", "a", "<pad>"});
  EXPECT_EQ(vocabulary.size(), 5);
  EXPECT_THAT(vocabulary.Encode({"<eos>", "a", "<bos>", "<pad>"}),
              ElementsAre(0, 4, 0, 0));
  EXPECT_TRUE(vocabulary.HasTextToken("a"));
  EXPECT_FALSE(vocabulary.HasTextToken("<eos>"));
  EXPECT_FALSE(vocabulary.HasTextToken("<unk>"));
}

TEST(VocabularyTest, DecodesUpToTheEnd) {
  const Vocabulary vocabulary = Counted({"go", "."});
  EXPECT_THAT(vocabulary.Decode({2, 4, 0, 1, 5, 3, 4}),
              ElementsAre("go", "<unk>", "."));
  EXPECT_THAT(vocabulary.Decode({3}), IsEmpty());
}

TEST(VocabularyDeathTest, RefusesIdsOutOfRange) {
  const Vocabulary vocabulary;
  EXPECT_DEATH(vocabulary.Token(4), "id < size");
  EXPECT_DEATH(vocabulary.Token(-1), "id >= 0");
}

TEST(VocabularyTest, ReadsTheTextThatItWrites) {
  const Vocabulary vocabulary = Counted({"\xc3\xa9t\xc3\xa9", "a b", "#"});
  const absl::StatusOr<Vocabulary> read =
      Vocabulary::Parse(vocabulary.ToText(), "v.txt");
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, vocabulary);
  EXPECT_EQ(read->Id("#"), 6);
}

struct Malformed {
  std::string text;
  std::string message;
};

class MalformedVocabularyTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedVocabularyTest, IsALocatedError) {
  EXPECT_THAT(Vocabulary::Parse(GetParam().text, "v.txt"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
}

std::string AfterReserved(absl::string_view text) {
  return std::string(kReservedLines) + std::string(text);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, MalformedVocabularyTest,
    ::testing::Values(
        Malformed{"", "v.txt:1: error: the file must begin"},
        Malformed{"<unk>\n<pad>\n", "v.txt:3: error: the file must begin"},
        Malformed{"<unk>\n<bos>\n", "v.txt:2: error: expected token '"},
        Malformed{AfterReserved("a\n\nb\n"),
                  "v.txt:6: error: the line is empty"},
        Malformed{AfterReserved("a\nb\na\n"),
                  "v.txt:7: error: token 'a' must occur only once, but is "
                  "already on line 5"},
        Malformed{AfterReserved("a\n<pad>\n"), "already on line 2"},
        Malformed{AfterReserved("a\nb"), "v.txt:6: error: the last line"},
        Malformed{AfterReserved("\xff\n"), "v.txt:5: error: the token must be"},
        Malformed{AfterReserved(absl::string_view("a\0\n", 3)),
                  "v.txt:5: error: the token must not contain a NUL"}));

}  // namespace
}  // namespace regard
