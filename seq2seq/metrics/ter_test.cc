#include "seq2seq/metrics/ter.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "seq2seq/testing/corpus_score.h"

namespace regard {
namespace {

double Edits(const char* prediction, const char* reference) {
  return TerStatistics(prediction, {reference})[0];
}

TEST(TerEditsTest, CountsEachKindOfEdit) {
  EXPECT_EQ(Edits("a b c", "a b c"), 0);
  EXPECT_EQ(Edits("a b c", "a x c"), 1);
  EXPECT_EQ(Edits("a b c d", "a b c"), 1);
  EXPECT_EQ(Edits("a b", "a b c d"), 2);
  EXPECT_EQ(Edits("", "a b"), 2);
  EXPECT_EQ(Edits("a b", ""), 2);
  EXPECT_EQ(Edits("", ""), 0);
}

TEST(TerEditsTest, AShiftOfAPhraseIsOneEdit) {
  // Without shifts, "d e a b c" would need two insertions and two deletions.
  EXPECT_EQ(Edits("d e a b c", "a b c d e"), 1);
  EXPECT_EQ(Edits("a c d b", "a b c d"), 1);
}

TEST(TerEditsTest, StaysNearTheDiagonalOfLongSentences) {
  std::string prediction;
  std::string reference;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&prediction, "p", i, " ");
    absl::StrAppend(&reference, "p", i + 1, " ");
  }
  EXPECT_EQ(Edits(prediction.c_str(), reference.c_str()), 2);
  EXPECT_EQ(Edits("p", reference.c_str()), 200);
}

TEST(CorpusTerTest, DividesByTheMeanLengthOfTheReferences) {
  EXPECT_DOUBLE_EQ(CorpusTer({"the cat"}, {{"The cat sat"}}), 100.0 / 3);
  EXPECT_DOUBLE_EQ(CorpusTer({"a b"}, {{"a b", "a b c d"}}), 0);
  EXPECT_DOUBLE_EQ(CorpusTer({"a x"}, {{"a b", "a b c d"}}), 100.0 / 3);
}

TEST(CorpusTerTest, AcceptsEmptyTexts) {
  EXPECT_EQ(CorpusTer({}, {}), 0);
  EXPECT_EQ(CorpusTer({""}, {{""}}), 0);
  EXPECT_EQ(CorpusTer({"a"}, {{""}}), 100);
}

TEST(TerStatisticsDeathTest, NeedsAReference) {
  EXPECT_DEATH(TerStatistics("a", {}), "without a reference");
}

TEST(TerStatisticsTest, AreEditsAndWords) {
  EXPECT_EQ(TerStatistics("a b x", {"a b c d", "q"}),
            (std::array<double, 2>{2, 2.5}));
  EXPECT_EQ(TerOfSums({2, 2.5}), 80);
  EXPECT_EQ(TerOfSums({0, 0}), 0);
  EXPECT_EQ(TerOfSums({1, 0}), 100);
}

}  // namespace
}  // namespace regard
