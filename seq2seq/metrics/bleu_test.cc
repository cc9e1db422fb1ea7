#include "seq2seq/metrics/bleu.h"

#include <array>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr double kTolerance = 1e-8;  // sacreBLEU's own tolerance

// sacreBLEU 2.6.0 computed the expected numbers in this file.

Sentences Predictions() {
  return {"A heron stood in 3.5 cm of water, waiting.",
          "Nobody's boat came back before 10,000 gulls did!",
          "the lamp (broken) costs $7", "Rain fell; rain fell; rain fell."};
}

References OneReference() {
  return {{"A heron was standing in 3.5 cm of water, waiting."},
          {"No boat came back before 10,000 gulls had!"},
          {"The broken lamp costs $7."},
          {"Rain fell all night."}};
}

References TwoReferences() {
  References references = OneReference();
  references[0].push_back("One heron stood waiting in 3.5 cm of water.");
  references[1].push_back("Nobody's boat came home before the gulls did.");
  references[2].push_back("the lamp, which is broken, costs $7");
  references[3].push_back("Rain fell; and fell.");
  return references;
}

double SentenceBleu(const std::string& prediction,
                    const std::string& reference) {
  return CorpusBleu({prediction}, {{reference}}, BleuTokenizer::kNone);
}

TEST(CorpusBleuTest, EqualsSacreBleuOnACorpus) {
  const BleuTokenizer none = BleuTokenizer::kNone;
  EXPECT_NEAR(CorpusBleu(Predictions(), OneReference()), 44.65522153433695,
              kTolerance);
  EXPECT_NEAR(CorpusBleu(Predictions(), OneReference(), none), 45.2002563756376,
              kTolerance);
  EXPECT_NEAR(CorpusBleu(Predictions(), TwoReferences(), none),
              54.25295537025235, kTolerance);
}

TEST(CorpusBleuTest, IsMadeOfSumsOfCounts) {
  std::array<double, kBleuStatistics> sums = {};
  for (size_t i = 0; i < Predictions().size(); ++i) {
    const auto statistics = BleuStatistics(Predictions()[i], TwoReferences()[i],
                                           BleuTokenizer::k13a);
    for (size_t j = 0; j < sums.size(); ++j) sums[j] += statistics[j];
  }
  EXPECT_NEAR(BleuOfSums(sums), 53.20359892325913, kTolerance);
  EXPECT_THAT(sums, ElementsAre(37, 32, 31, 22, 13, 8, 37, 33, 29, 25));
}

TEST(BleuStatisticsTest, AreCountsOfASentence) {
  // The reference contains two words and one bigram of "a b c", but not its
  // trigram.
  EXPECT_THAT(BleuStatistics("a b c", {"a b d e"}, BleuTokenizer::kNone),
              ElementsAre(3, 4, 2, 1, 0, 0, 3, 2, 1, 0));
  EXPECT_THAT(BleuStatistics("", {""}, BleuTokenizer::k13a),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(BleuStatisticsTest, ACorpusHasTheSums) {
  MetricOverExamples metric = {"bleu", &kBleu};
  for (size_t i = 0; i < Predictions().size(); ++i) {
    metric.Add(BleuStatistics(Predictions()[i], OneReference()[i],
                              BleuTokenizer::k13a));
  }
  EXPECT_NEAR(metric.Value(), 44.65522153433695, kTolerance);
}

// Three of six words, two of five bigrams and one of four trigrams match, but
// no 4-gram does. The reference has eight words.
TEST(CorpusBleuTest, SmoothsAsSacreBleu) {
  EXPECT_NEAR(SentenceBleu("k l m x y z", "k l m n o p q r"), 21.64910073203448,
              kTolerance);
}

TEST(CorpusBleuTest, ShortSentencesScoreZero) {
  EXPECT_EQ(SentenceBleu("a b", "a b"), 0.0);
}

TEST(CorpusBleuTest, WithoutMatchesTheScoreIsZero) {
  EXPECT_EQ(SentenceBleu("x y z w v", "a b c d e"), 0.0);
  EXPECT_EQ(CorpusBleu({}, {}), 0.0);
  EXPECT_EQ(SentenceBleu("", "a b"), 0.0);
}

TEST(BleuStatisticsTest, MeasuresAgainstTheClosestLengthThenTheShorter) {
  const auto length = [](const std::vector<std::string>& references) {
    return BleuStatistics("a b c d e f", references, BleuTokenizer::k13a)[1];
  };
  EXPECT_EQ(length({"a b c d e f g h", "a b c d"}), 4);
  EXPECT_EQ(length({"a", "a b c d e f g"}), 7);
}

TEST(BleuStatisticsDeathTest, NeedsAReference) {
  EXPECT_DEATH(BleuStatistics("a", {}, BleuTokenizer::k13a),
               "without a reference");
}

struct Tokenized {
  std::string sentence;
  std::vector<std::string> tokens;
};

class Tokenize13aTest : public ::testing::TestWithParam<Tokenized> {};

TEST_P(Tokenize13aTest, EqualsSacreBleu) {
  EXPECT_THAT(Tokenize13a(GetParam().sentence),
              ElementsAreArray(GetParam().tokens));
}

INSTANTIATE_TEST_SUITE_P(
    Sentences, Tokenize13aTest,
    ::testing::Values(
        Tokenized{"Hello, world!", {"Hello", ",", "world", "!"}},
        Tokenized{"3.5 and 1,000.", {"3.5", "and", "1,000", "."}},
        Tokenized{"a.b", {"a", ".", "b"}}, Tokenized{"...", {".", ".", "."}},
        Tokenized{",,1,,2", {",", ",1", ",", ",", "2"}},
        Tokenized{"1990-95 well-known", {"1990", "-", "95", "well-known"}},
        Tokenized{"&quot;x&quot; &amp;lt; y", {"\"", "x", "\"", "<", "y"}},
        Tokenized{"<skipped>a-\nb\nc", {"ab", "c"}}, Tokenized{"a-\n", {"a-"}},
        Tokenized{"l'\u00e9t\u00e9, d\u00e9j\u00e0\u2026",
                  {"l'\u00e9t\u00e9", ",", "d\u00e9j\u00e0\u2026"}},
        Tokenized{"\u00e9.\u00e9", {"\u00e9", ".", "\u00e9"}},
        Tokenized{"x.\u00a0", {"x", "."}}, Tokenized{"5.", {"5", "."}},
        Tokenized{"$7 (a/b) [c]_d~",
                  {"$", "7", "(", "a", "/", "b", ")", "[", "c", "]", "_", "d",
                   "~"}}));

TEST(Tokenize13aEdgeTest, EmptySentencesHaveNoTokens) {
  EXPECT_THAT(Tokenize13a(""), IsEmpty());
  EXPECT_THAT(Tokenize13a(" \n"), IsEmpty());
}

TEST(Tokenize13aEdgeTest, ALineMayBeLong) {
  std::string line;
  for (int i = 0; i < 100000; ++i) line += "(a, 3-4)b.";
  const std::vector<std::string> tokens = Tokenize13a(line);
  EXPECT_EQ(tokens.size(), 900000u);
  EXPECT_EQ(tokens[899998], "b");
}

TEST(BleuSignatureTest, SaysHowTheScoreWasComputed) {
  EXPECT_EQ(BleuSignature(BleuTokenizer::k13a),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1");
  EXPECT_EQ(BleuSignature(BleuTokenizer::kNone, 2),
            "nrefs:2|case:mixed|eff:no|tok:none|smooth:exp|version:regard-1");
}

}  // namespace
}  // namespace regard
