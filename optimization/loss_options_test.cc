#include "gtest/gtest.h"
#include "optimization/model.h"

namespace regard {
namespace {

TEST(LossOptionsTest, DividesByTokensSequencesOrNothing) {
  using Normalizer = LossOptions::Normalizer;
  EXPECT_EQ(LossOptions().Denominator(12, 3), 12);
  EXPECT_EQ(
      LossOptions{.normalizer = Normalizer::kPerSequence}.Denominator(12, 3),
      3);
  EXPECT_EQ(LossOptions{.normalizer = Normalizer::kSum}.Denominator(12, 3), 1);
}

}  // namespace
}  // namespace regard
