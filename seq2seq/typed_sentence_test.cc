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

TEST(UnknownWordReporter, AreNamedOnce) {
  const Vocabulary vocabulary = VocabularyOf({"a"});
  UnknownWordReporter unknown(vocabulary);
  EXPECT_THAT(unknown.UnknownWordNotes({"b", "a", "<unk>", "<eos>", "b"}),
              ElementsAre("the model does not know 'b'",
                          "the model does not know '<eos>'"));
  const std::string long_word = "\x1b" + std::string(100, 'c');
  EXPECT_THAT(unknown.UnknownWordNotes({"b", long_word}),
              ElementsAre(absl::StrCat("the model does not know '",
                                       std::string(59, 'c'), "~'")));
}

TEST(UnknownWordReporter, AreNamedUpToTwenty) {
  std::vector<std::string> words;
  for (int i = 0; i < 100; ++i) words.push_back(absl::StrCat("word", i));
  const Vocabulary vocabulary;
  UnknownWordReporter unknown(vocabulary);
  const std::vector<std::string> notes = unknown.UnknownWordNotes(words);
  ASSERT_EQ(notes.size(), 21);
  EXPECT_EQ(notes[19], "the model does not know 'word19'");
  EXPECT_EQ(notes[20], "further unknown words are not listed");
  EXPECT_THAT(unknown.UnknownWordNotes(words), IsEmpty());
}

}  // namespace
}  // namespace regard
