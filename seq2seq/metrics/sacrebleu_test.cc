// Compares scores of random corpora with sacreBLEU 2.6.0.
// tools/parity/write_translation_scores.py writes the fixture and describes its
// format. The environment variable SCORES names another fixture.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/ter.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

constexpr double kTolerance = 1e-8;

std::string WithoutVersion(const std::string& signature) {
  return signature.substr(0, signature.find("|version:"));
}

std::string NextLine(std::ifstream& file) {
  std::string line;
  EXPECT_TRUE(std::getline(file, line));
  return line;
}

TEST(SacreBleuTest, ScoresAndSignaturesAreEqual) {
  const char* given = std::getenv("SCORES");
  std::ifstream file(given == nullptr ? "seq2seq/metrics/testdata/scores.txt"
                                      : given);
  ASSERT_TRUE(file);
  double greatest = 0;
  int corpora = 0;
  std::string header;
  while (std::getline(file, header)) {
    const std::vector<std::string> fields = absl::StrSplit(header, ' ');
    ASSERT_EQ(fields.size(), 7);
    int lines = 0;
    int each = 0;
    ASSERT_TRUE(absl::SimpleAtoi(fields[1], &lines));
    ASSERT_TRUE(absl::SimpleAtoi(fields[2], &each));
    std::vector<std::string> signatures;
    for (int i = 0; i < 4; ++i) signatures.push_back(NextLine(file));
    std::vector<std::string> predictions;
    std::vector<std::vector<std::string>> references;
    for (int i = 0; i < lines; ++i) {
      std::vector<std::string> texts = absl::StrSplit(NextLine(file), '\t');
      ASSERT_EQ(texts.size(), each + 1);
      predictions.push_back(texts[0]);
      references.emplace_back(texts.begin() + 1, texts.end());
    }
    constexpr int kPlusPlus = 2;
    const std::pair<double, std::string> ours[] = {
        {CorpusBleu(predictions, references),
         BleuSignature(BleuTokenizer::k13a, each)},
        {CorpusChrf(predictions, references), ChrfSignature(0, each)},
        {CorpusChrf(predictions, references, kPlusPlus),
         ChrfSignature(kPlusPlus, each)},
        {CorpusTer(predictions, references), TerSignature(each)}};
    for (int i = 0; i < 4; ++i) {
      double wanted = 0;
      ASSERT_TRUE(absl::SimpleAtod(fields[3 + i], &wanted));
      EXPECT_NEAR(ours[i].first, wanted, kTolerance)
          << "corpus " << corpora << ", metric " << i;
      greatest = std::max(greatest, std::abs(ours[i].first - wanted));
      EXPECT_EQ(WithoutVersion(ours[i].second), signatures[i]);
    }
    ++corpora;
  }
  EXPECT_GE(corpora, 12);
  std::printf("%d corpora, largest difference %g\n", corpora, greatest);
}

}  // namespace
}  // namespace regard
