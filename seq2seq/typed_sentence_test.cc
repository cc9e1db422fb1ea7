#include "seq2seq/typed_sentence.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST(UnknownWords, AreNamedOnce) {
  const Vocabulary vocabulary = VocabularyOf({"a"});
  UnknownWords unknown(vocabulary);
  EXPECT_THAT(unknown.NotesOn({"b", "a", "<unk>", "<eos>", "b"}),
              ElementsAre("the model does not know 'b'",
                          "the model does not know '<eos>'"));
  const std::string long_word = "\x1b" + std::string(100, 'c');
  EXPECT_THAT(unknown.NotesOn({"b", long_word}),
              ElementsAre(absl::StrCat("the model does not know '",
                                       std::string(59, 'c'), "~'")));
}

TEST(UnknownWords, AreNamedUpToTwenty) {
  std::vector<std::string> words;
  for (int i = 0; i < 100; ++i) words.push_back(absl::StrCat("word", i));
  const Vocabulary vocabulary;
  UnknownWords unknown(vocabulary);
  const std::vector<std::string> notes = unknown.NotesOn(words);
  ASSERT_EQ(notes.size(), 21);
  EXPECT_EQ(notes[19], "the model does not know 'word19'");
  EXPECT_EQ(notes[20], "further unknown words are not named");
  EXPECT_THAT(unknown.NotesOn(words), IsEmpty());
}

}  // namespace
}  // namespace regard
