#include "seq2seq/metrics/alignment_error_rate.h"

#include "data/sentence_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Links = std::vector<AlignmentLink>;

double RateOf(const Links& predicted, const Links& gold) {
  AlignmentErrorRate rate;
  rate.Add(predicted, gold);
  return rate.Rate();
}

TEST(AlignmentErrorRateTest, IsZeroForTheSameLinksInAnyOrder) {
  EXPECT_EQ(RateOf({{0, 1}, {1, 0}}, {{1, 0}, {0, 1}}), 0.0);
  EXPECT_EQ(RateOf({}, {}), 0.0);
}

TEST(AlignmentErrorRateTest, IsOneWhenNothingIsShared) {
  EXPECT_EQ(RateOf({{0, 1}}, {{1, 0}}), 1.0);
  EXPECT_EQ(RateOf({}, {{0, 0}}), 1.0);
  EXPECT_EQ(RateOf({{0, 0}}, {}), 1.0);
}

// The 3 predicted and 2 gold links share 1 link, so the rate is 1 - 2 * 1 / 5.
TEST(AlignmentErrorRateTest, WeighsMissedAndExtraLinks) {
  EXPECT_DOUBLE_EQ(RateOf({{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 1}}), 0.6);
}

TEST(AlignmentErrorRateTest, SumsLinksOverSentences) {
  AlignmentErrorRate rate;
  rate.Add(Links{{0, 0}}, Links{{0, 0}});
  rate.Add(Links{{0, 0}, {1, 0}, {2, 0}}, Links{{0, 1}, {1, 1}, {2, 1}});
  EXPECT_DOUBLE_EQ(rate.Rate(), 0.75);  // 1 - 2 * 1 / (4 + 4)
}

TEST(GreatestLinksTest, LinksEachTargetWordOnce) {
  EXPECT_THAT(MaxWeightLinks({0.2f, 0.8f, 0.0f, 0.5f, 0.1f, 0.4f}, 3, 2, 3),
              ElementsAre(AlignmentLink{0, 1}, AlignmentLink{1, 0}));
}

TEST(GreatestLinksTest, TakesTheFirstInTiesAndSkipsEmptyRows) {
  EXPECT_THAT(MaxWeightLinks({0.5f, 0.5f, 0.0f, 0.0f}, 2, 2, 2),
              ElementsAre(AlignmentLink{0, 0}));
  EXPECT_THAT(MaxWeightLinks({}, 3, 0, 3), IsEmpty());
  EXPECT_THAT(MaxWeightLinks({}, 0, 3, 0), IsEmpty());
}

TEST(GreatestLinksTest, AWordThatAttendsToTheEndOfSentenceHasNoLink) {
  // Source and target consist of two words and <eos>.
  const std::vector<float> weights = {0.1f, 0.2f, 0.7f, 0.5f, 0.4f,
                                      0.1f, 0.8f, 0.1f, 0.1f};
  EXPECT_THAT(MaxWeightLinks(weights, 3, 2, 2),
              ElementsAre(AlignmentLink{1, 0}));
}

TEST(GreatestLinksTest, TheLastWordOfACutSourceIsAWord) {
  // The source has three words and no <eos>.
  EXPECT_THAT(MaxWeightLinks({0.1f, 0.2f, 0.7f}, 3, 1, 3),
              ElementsAre(AlignmentLink{0, 2}));
}

TEST(GreatestLinksDeathTest, RefusesAnotherShape) {
  EXPECT_DEATH(MaxWeightLinks({0.5f}, 2, 1, 2), "1 weights in rows of 2");
  EXPECT_DEATH(MaxWeightLinks({0.5f}, 1, 1, 2), "2 source words");
}

TEST(DiagonalLinksTest, RunsFromTheFirstWordToTheLast) {
  EXPECT_THAT(DiagonalLinks(3, 3),
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{1, 1},
                          AlignmentLink{2, 2}));
  // Before rounding, the source positions are 0, 0.75, 1.5 and 2.25.
  EXPECT_THAT(DiagonalLinks(4, 3),
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{1, 1},
                          AlignmentLink{2, 2}, AlignmentLink{3, 2}));
  // Before rounding, the source positions are 0 and 2.5.
  EXPECT_THAT(DiagonalLinks(2, 5),
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{1, 3}));
}

TEST(DiagonalLinksTest, StaysInsideTheSource) {
  for (const AlignmentLink& link : DiagonalLinks(7, 2)) {
    EXPECT_LT(link.source, 2);
  }
  EXPECT_THAT(DiagonalLinks(0, 3), IsEmpty());
  EXPECT_THAT(DiagonalLinks(3, 0), IsEmpty());
}

}  // namespace
}  // namespace regard
