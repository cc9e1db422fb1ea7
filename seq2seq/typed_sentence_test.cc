#include "seq2seq/typed_sentence.h"

#include <string>
#include <vector>

#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Vocabulary VocabularyOf(const std::vector<std::string>& words) {
  TokenCounts counts;
  counts.Add(words);
  return Vocabulary(counts);
}

TEST(TypedWords, ArePreparedAsACorpusIs) {
  EXPECT_THAT(TypedWords("They are  watching.\r", Vocabulary()),
              ElementsAre("they", "are", "watching", "."));
  EXPECT_THAT(TypedWords(" \t ", Vocabulary()), IsEmpty());
}

TEST(TypedWords, ArePartedWhereTheVocabularyElides) {
  const Vocabulary vocabulary =
      VocabularyOf({"j'", "n'", "aime", "i'm", "aujourd'hui"});
  EXPECT_THAT(TypedWords("J\u2019aime", vocabulary), ElementsAre("j'", "aime"));
  EXPECT_THAT(TypedWords("j'n'aime", vocabulary),
              ElementsAre("j'", "n'", "aime"));
  EXPECT_THAT(TypedWords("aujourd'hui i'm", vocabulary),
              ElementsAre("aujourd'hui", "i'm"));
}

TEST(TypedWords, StayWholeWhereTheFirstPartIsUnknownOrAll) {
  const Vocabulary vocabulary = VocabularyOf({"j'"});
  EXPECT_THAT(TypedWords("they're j' 'tis", vocabulary),
              ElementsAre("they're", "j'", "'tis"));
}

TEST(TypedWords, OfBytesThatAreNotUtf8AreReplacementCharacters) {
  EXPECT_THAT(TypedWords("a \xff b", Vocabulary()),
              ElementsAre("a", "\uFFFD", "b"));
}

}  // namespace
}  // namespace regard
