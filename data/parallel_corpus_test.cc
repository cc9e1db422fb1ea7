#include "data/parallel_corpus.h"

#include <string>
#include <utility>
#include <vector>

#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

ParallelCorpusBuilder Pairs() {
  ParallelCorpusBuilder corpus;
  corpus.Add({"b", "a"}, {"x", "b"});
  corpus.Add({"a"}, {"y", "x", "x"});
  return corpus;
}

TEST(TokenizedCorpusTest, CountsEachSide) {
  const ParallelCorpusBuilder corpus = Pairs();
  EXPECT_EQ(corpus.SourceVocabulary(1).ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\na\nb\n");
  EXPECT_EQ(corpus.TargetVocabulary(1).ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\nx\nb\ny\n");
  // `b` occurs before `a`, and both occur twice.
  EXPECT_EQ(corpus.SharedVocabulary(2).ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\nx\nb\na\n");
}

TEST(TokenizedCorpusTest, TiesAreInTheOrderOfTheirSide) {
  ParallelCorpusBuilder corpus;
  // Among the sources, `p` first occurs after `r`. An earlier target that
  // contains `p` must not matter.
  corpus.Add({"q"}, {"p"});
  corpus.Add({"r", "p"}, {"q"});
  EXPECT_EQ(corpus.SourceVocabulary(1).ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\nq\nr\np\n");
}

TEST(TokenizedCorpusTest, EncodesWithEndsOfSentences) {
  ParallelCorpusBuilder tokenized = Pairs();
  const Vocabulary source = tokenized.SourceVocabulary(1);
  const Vocabulary target = tokenized.TargetVocabulary(2);
  const ParallelCorpus corpus = std::move(tokenized).Encode(source, target);
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_THAT(corpus[0].source, ElementsAre(5, 4, 3));
  EXPECT_THAT(corpus[0].target, ElementsAre(4, 0, 3));
  EXPECT_THAT(corpus[1].source, ElementsAre(4, 3));
  EXPECT_THAT(corpus[1].target, ElementsAre(0, 4, 4, 3));
  EXPECT_EQ(corpus.num_ids(), 12);
}

TEST(TokenizedCorpusTest, CutsLongSides) {
  ParallelCorpusBuilder tokenized = Pairs();
  const Vocabulary source = tokenized.SourceVocabulary(1);
  const Vocabulary target = tokenized.TargetVocabulary(1);
  const ParallelCorpus corpus = std::move(tokenized).Encode(source, target, 2);
  EXPECT_THAT(corpus[0].source, ElementsAre(5, 4));
  EXPECT_THAT(corpus[1].source, ElementsAre(4, 3));
  EXPECT_THAT(corpus[1].target, ElementsAre(6, 4));
}

TEST(TokenizedCorpusTest, TextCannotSpellAReservedToken) {
  ParallelCorpusBuilder tokenized;
  tokenized.Add({"<eos>", "a"}, {"b"});
  tokenized.AddToVocabularies({"c"}, {"d"});
  const Vocabulary source = tokenized.SourceVocabulary(1);
  EXPECT_EQ(source.size(), 6);
  const Vocabulary target = tokenized.TargetVocabulary(1);
  EXPECT_TRUE(target.HasTextToken("d"));
  const ParallelCorpus corpus = std::move(tokenized).Encode(source, target);
  EXPECT_THAT(corpus[0].source, ElementsAre(0, 4, 3));
}

TEST(TokenizedCorpusTest, IsEmptyWithoutPairs) {
  ParallelCorpusBuilder tokenized;
  EXPECT_EQ(tokenized.size(), 0);
  const ParallelCorpus corpus =
      std::move(tokenized).Encode(Vocabulary(), Vocabulary());
  EXPECT_TRUE(corpus.empty());
}

TEST(EncodeSentenceTest, EndsWithEosUnlessCut) {
  TokenCounts counts;
  counts.Add({"a", "b", "a"});
  const Vocabulary vocabulary(counts);
  EXPECT_THAT(EncodeSentence({"b", "a", "c"}, vocabulary, 0),
              ElementsAre(5, 4, Vocabulary::kUnknown, Vocabulary::kEnd));
  EXPECT_THAT(EncodeSentence({"b", "a"}, vocabulary, 3),
              ElementsAre(5, 4, Vocabulary::kEnd));
  EXPECT_THAT(EncodeSentence({"b", "a"}, vocabulary, 2), ElementsAre(5, 4));
  EXPECT_THAT(EncodeSentence({}, vocabulary, 2), ElementsAre(Vocabulary::kEnd));
}

}  // namespace
}  // namespace regard
