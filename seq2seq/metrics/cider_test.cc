// Compares scores of random corpora with pycocoevalcap.
// tools/parity/write_caption_scores.py writes the fixture and describes its
// format. The environment variable SCORES names another fixture.
#include "seq2seq/metrics/cider.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

using Words = std::vector<std::string>;

Words Split(const std::string& text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

TEST(CiderDTest, EqualsPycocoevalcap) {
  const char* given = std::getenv("SCORES");
  std::ifstream file(
      given == nullptr ? "seq2seq/metrics/testdata/caption_scores.txt" : given);
  ASSERT_TRUE(file);
  double greatest = 0;
  int corpora = 0;
  std::string header;
  while (std::getline(file, header)) {
    const Words fields = Split(header);
    ASSERT_EQ(fields.size(), 4);
    int images = 0;
    double cider = 0;
    double bleu = 0;
    ASSERT_TRUE(absl::SimpleAtoi(fields[1], &images));
    ASSERT_TRUE(absl::SimpleAtod(fields[2], &cider));
    ASSERT_TRUE(absl::SimpleAtod(fields[3], &bleu));
    std::vector<std::string> texts;
    std::vector<std::vector<std::string>> wanted_texts;
    std::vector<Words> predictions;
    std::vector<std::vector<Words>> references;
    for (int i = 0; i < images; ++i) {
      std::string line;
      ASSERT_TRUE(std::getline(file, line));
      std::vector<std::string> parts = absl::StrSplit(line, '\t');
      texts.push_back(parts[0]);
      predictions.push_back(Split(parts[0]));
      parts.erase(parts.begin());
      std::vector<Words>& of_image = references.emplace_back();
      for (const std::string& part : parts) of_image.push_back(Split(part));
      wanted_texts.push_back(std::move(parts));
    }
    const std::vector<double> scores = CiderD(predictions, references);
    const double mean =
        std::accumulate(scores.begin(), scores.end(), 0.0) / images;
    EXPECT_NEAR(mean, cider, 1e-9) << "corpus " << corpora;
    greatest = std::max(greatest, std::abs(mean - cider));
    // pycocoevalcap's BLEU is not smoothed. Without smoothing, BLEU is below
    // 1e-6^(1/4), or 0.032, if an order has no match.
    if (bleu > 0.04) {
      EXPECT_NEAR(CorpusBleu(texts, wanted_texts, BleuTokenizer::kNone) / 100,
                  bleu, 1e-9);
    }
    ++corpora;
  }
  EXPECT_GE(corpora, 10);
  std::printf("%d corpora, largest difference %g\n", corpora, greatest);
}

TEST(CiderDTest, IsTenForEqualSentences) {
  const std::vector<Words> sentences = {Split("a b c d"), Split("e f g h")};
  EXPECT_THAT(
      CiderD(sentences,
             std::vector<std::vector<Words>>{{sentences[0]}, {sentences[1]}}),
      ElementsAre(DoubleNear(10, 1e-12), DoubleNear(10, 1e-12)));
  // N-grams that all images share have weight 0.
  EXPECT_THAT(
      CiderD({{sentences[0]}}, std::vector<std::vector<Words>>{{sentences[0]}}),
      ElementsAre(0));
}

TEST(CiderDTest, IsZeroForOtherOrNoWords) {
  EXPECT_THAT(
      CiderD(std::vector<Words>{Split("x y"), {}},
             std::vector<std::vector<Words>>{{Split("a b")}, {Split("c d")}}),
      ElementsAre(0, 0));
}

}  // namespace
}  // namespace regard
