#include "attention/inspection/attention_rollout.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(AttentionRolloutTest, MultipliesLayersWithTheirResiduals) {
  // The second of two examples counts; the first is NaN-free noise.
  std::vector<AttentionMap<float>> layers(2);
  layers[0].shape = layers[1].shape = {2, 2, 2, 2};
  // Heads average to [[0, 1], [1, 0]] and [[1, 0], [1, 0]].
  layers[0].weights = {9,  9,  9, 9, 9,   9,   9, 9,  //
                       .5, .5, 1, 0, -.5, 1.5, 1, 0};
  layers[1].weights = {9, 9, 9, 9, 9, 9, 9, 9,  //
                       1, 0, 1, 0, 1, 0, 1, 0};
  // [[1, 0], [.5, .5]] times [[.5, .5], [.5, .5]].
  EXPECT_THAT(AttentionRollout<float>(layers, 1), ElementsAre(.5, .5, .5, .5));
  // [[.5, .5], [.5, .5]] alone.
  EXPECT_THAT(AttentionRollout<float>({layers.data(), 1}, 1),
              ElementsAre(.5, .5, .5, .5));
  EXPECT_THAT(AttentionRollout<float>({&layers[1], 1}, 1),
              ElementsAre(1, 0, .5, .5));
}

TEST(AttentionRolloutDeathTest, NeedsALayer) {
  EXPECT_DEATH(AttentionRollout<float>({}, 0), "no layers");
}

}  // namespace
}  // namespace regard
