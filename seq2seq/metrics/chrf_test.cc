#include "seq2seq/metrics/chrf.h"

#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

constexpr double kTolerance = 1e-8;

// sacreBLEU 2.6.0 computed the expected numbers in this file.

struct Case {
  std::string prediction;
  std::string reference;
  double score;
};

class ChrfTest : public ::testing::TestWithParam<Case> {};

TEST_P(ChrfTest, EqualsSacreBleu) {
  EXPECT_NEAR(CorpusChrf({GetParam().prediction}, {{GetParam().reference}}),
              GetParam().score, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Sentences, ChrfTest,
    ::testing::Values(Case{"abc", "abd", 38.888888888888886},
                      Case{"ab", "abcdefg", 26.76056338028169},
                      Case{"\u00e9t\u00e9 l\u00e0", "\u00e9t\u00e9",
                           82.06106870229006},
                      Case{"a b c d", "abcd", 100.0}, Case{"xyz", "abc", 0.0},
                      Case{"", "a", 0.0}, Case{"a", "", 0.0}));

TEST(CorpusChrfTest, EqualsSacreBleuOnACorpus) {
  const std::vector<std::string> predictions = {
      "A heron stood in 3.5 cm of water, waiting.",
      "Nobody's boat came back before 10,000 gulls did!",
      "the lamp (broken) costs $7", "Rain fell; rain fell; rain fell."};
  std::vector<std::vector<std::string>> references = {
      {"A heron was standing in 3.5 cm of water, waiting."},
      {"No boat came back before 10,000 gulls had!"},
      {"The broken lamp costs $7."},
      {"Rain fell all night."}};
  EXPECT_NEAR(CorpusChrf(predictions, references), 65.80621474726757,
              kTolerance);
  references[0].push_back("One heron stood waiting in 3.5 cm of water.");
  references[1].push_back("Nobody's boat came home before the gulls did.");
  references[2].push_back("the lamp, which is broken, costs $7");
  references[3].push_back("Rain fell; and fell.");
  EXPECT_NEAR(CorpusChrf(predictions, references), 69.61092276408819,
              kTolerance);
}

TEST(CorpusChrfTest, IsZeroForAnEmptyCorpus) {
  EXPECT_EQ(CorpusChrf({}, {}), 0.0);
}

TEST(ChrfSignatureTest, SaysHowTheScoreWasComputed) {
  EXPECT_EQ(ChrfSignature(),
            "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1");
  EXPECT_EQ(ChrfSignature(2, 3),
            "nrefs:3|case:mixed|eff:yes|nc:6|nw:2|space:no|version:regard-1");
}

TEST(ChrfStatisticsTest, AreNgramsOfBothSidesAndSharedOnes) {
  // The prediction has two characters and one bigram. The reference has three
  // characters and two bigrams. Two characters and one bigram are in both.
  const std::vector<double> statistics = ChrfStatistics("a b", {"abc"});
  EXPECT_EQ(static_cast<int>(statistics.size()), kChrf.width);
  EXPECT_EQ(std::vector<double>(statistics.begin(), statistics.begin() + 9),
            (std::vector<double>{2, 3, 2, 1, 2, 1, 0, 1, 0}));
  EXPECT_EQ(
      static_cast<int>(ChrfStatistics("a b", {"abc"}, /*word_order=*/2).size()),
      kChrfPlusPlus.width);
}

TEST(ChrfStatisticsTest, ACorpusHasTheSums) {
  const std::vector<std::string> predictions = {"a cat sat", "dogs", ""};
  const std::vector<std::vector<std::string>> references = {
      {"the cat sat"}, {"a dog"}, {"x"}};
  MetricOverExamples metric = {"chrf", &kChrf};
  for (size_t i = 0; i < predictions.size(); ++i) {
    metric.Add(ChrfStatistics(predictions[i], references[i]));
  }
  EXPECT_EQ(metric.Value(), CorpusChrf(predictions, references));
  EXPECT_EQ(metric.ValueOf(1), CorpusChrf({"dogs"}, {{"a dog"}}));
}

}  // namespace
}  // namespace regard
