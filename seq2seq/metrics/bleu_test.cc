#include "seq2seq/metrics/bleu.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/evaluated_set.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr double kTolerance = 1e-8;  // sacreBLEU's own

// Expected numbers in this file were printed by sacreBLEU 2.6.0.

std::vector<std::string> Predictions() {
  return {"A heron stood in 3.5 cm of water, waiting.",
          "Nobody's boat came back before 10,000 gulls did!",
          "the lamp (broken) costs $7", "Rain fell; rain fell; rain fell."};
}

std::vector<std::vector<std::string>> References() {
  return {{"A heron was standing in 3.5 cm of water, waiting."},
          {"No boat came back before 10,000 gulls had!"},
          {"The broken lamp costs $7."},
          {"Rain fell all night."}};
}

std::vector<std::vector<std::string>> TwoReferences() {
  std::vector<std::vector<std::string>> references = References();
  references[0].push_back("One heron stood waiting in 3.5 cm of water.");
  references[1].push_back("Nobody's boat came home before the gulls did.");
  references[2].push_back("the lamp, which is broken, costs $7");
  references[3].push_back("Rain fell; and fell.");
  return references;
}

double SentenceBleu(const std::string& prediction, const std::string& reference,
                    const BleuOptions& options) {
  return CorpusBleu({prediction}, {{reference}}, options).score;
}

TEST(CorpusBleuTest, EqualsSacreBleuOnACorpus) {
  const BleuOptions none = {.tokenizer = BleuTokenizer::kNone};
  EXPECT_NEAR(CorpusBleu(Predictions(), References()).score, 44.65522153433695,
              kTolerance);
  EXPECT_NEAR(CorpusBleu(Predictions(), References(), none).score,
              45.2002563756376, kTolerance);
  EXPECT_NEAR(CorpusBleu(Predictions(), TwoReferences(), none).score,
              54.25295537025235, kTolerance);
}

TEST(CorpusBleuTest, TellsWhatTheScoreIsMadeOf) {
  const BleuScore bleu = CorpusBleu(Predictions(), TwoReferences());
  EXPECT_NEAR(bleu.score, 53.20359892325913, kTolerance);
  EXPECT_THAT(bleu.matches, ElementsAre(31, 22, 13, 8));
  EXPECT_THAT(bleu.totals, ElementsAre(37, 33, 29, 25));
  EXPECT_THAT(bleu.precisions, Pointwise(DoubleNear(kTolerance),
                                         {83.78378378378379, 66.66666666666667,
                                          44.827586206896555, 32.0}));
  EXPECT_EQ(bleu.brevity_penalty, 1.0);
  EXPECT_EQ(bleu.prediction_length, 37);
  EXPECT_EQ(bleu.reference_length, 32);
}

TEST(BleuStatisticsTest, AreCountsOfASentence) {
  // Of "a b c" the reference has two words, one pair and no triple.
  EXPECT_THAT(BleuStatistics("a b c", {"a b d e"}, BleuTokenizer::kNone),
              ElementsAre(3, 4, 2, 1, 0, 0, 3, 2, 1, 0));
  EXPECT_THAT(BleuStatistics("", {""}, BleuTokenizer::k13a),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(BleuStatisticsTest, OfACorpusAreTheSums) {
  ExampleMetric metric = {"bleu", &kBleu};
  for (size_t i = 0; i < Predictions().size(); ++i) {
    metric.Add(
        BleuStatistics(Predictions()[i], References()[i], BleuTokenizer::k13a));
  }
  EXPECT_EQ(metric.Value(), CorpusBleu(Predictions(), References()).score);
  EXPECT_NEAR(metric.Value(), 44.65522153433695, kTolerance);
}

struct Smoothed {
  BleuSmoothing smoothing;
  double value;
  double score;
};

class BleuSmoothingTest : public ::testing::TestWithParam<Smoothed> {};

// Three of six words, two of five pairs and one of four triples match, no run
// of four does; the reference has eight words.
TEST_P(BleuSmoothingTest, EqualsSacreBleu) {
  const BleuOptions options = {.tokenizer = BleuTokenizer::kNone,
                               .smoothing = GetParam().smoothing,
                               .smoothing_value = GetParam().value};
  EXPECT_NEAR(SentenceBleu("k l m x y z", "k l m n o p q r", options),
              GetParam().score, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, BleuSmoothingTest,
    ::testing::Values(Smoothed{BleuSmoothing::kExp, 0.0, 21.64910073203448},
                      Smoothed{BleuSmoothing::kFloor, 0.0, 14.477626226006022},
                      Smoothed{BleuSmoothing::kFloor, 0.01, 8.14136751754278},
                      Smoothed{BleuSmoothing::kAddK, 0.0, 28.49181887722137},
                      Smoothed{BleuSmoothing::kNone, 0.0, 0.0}));

TEST(CorpusBleuTest, EffectiveOrderSavesShortSentences) {
  EXPECT_EQ(SentenceBleu("a b", "a b", {}), 0.0);
  EXPECT_NEAR(SentenceBleu("a b", "a b", {.effective_order = true}), 100.0,
              kTolerance);
}

TEST(CorpusBleuTest, WithoutMatchesTheScoreIsZero) {
  EXPECT_EQ(SentenceBleu("x y z w v", "a b c d e", {}), 0.0);
  EXPECT_EQ(CorpusBleu({}, {}).score, 0.0);
  const BleuScore empty = CorpusBleu({""}, {{"a b"}});
  EXPECT_EQ(empty.score, 0.0);
  EXPECT_EQ(empty.brevity_penalty, 0.0);
}

TEST(CorpusBleuTest, MeasuresAgainstTheClosestLengthThenTheShorter) {
  EXPECT_EQ(CorpusBleu({"a b c d e f"}, {{"a b c d e f g h", "a b c d"}})
                .reference_length,
            4);
  EXPECT_EQ(
      CorpusBleu({"a b c d e f"}, {{"a", "a b c d e f g"}}).reference_length,
      7);
}

TEST(CorpusBleuDeathTest, NeedsAReferenceForEachPrediction) {
  EXPECT_DEATH(CorpusBleu({"a"}, {}), "predictions.size");
  EXPECT_DEATH(CorpusBleu({"a"}, {{}}), "without a reference");
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

TEST(BleuSignatureTest, SaysHowTheScoreWasComputed) {
  EXPECT_EQ(BleuSignature({}),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1");
  EXPECT_EQ(BleuSignature({.tokenizer = BleuTokenizer::kNone,
                           .smoothing = BleuSmoothing::kFloor,
                           .effective_order = true},
                          2),
            "nrefs:2|case:mixed|eff:yes|tok:none|smooth:floor[0.10]|"
            "version:regard-1");
  EXPECT_EQ(BleuSignature({.smoothing = BleuSmoothing::kAddK}, 0),
            "nrefs:var|case:mixed|eff:no|tok:13a|smooth:add-k[1.00]|"
            "version:regard-1");
}

}  // namespace
}  // namespace regard
