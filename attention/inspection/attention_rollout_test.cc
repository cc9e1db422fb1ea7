#include "attention/inspection/attention_rollout.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

TEST(AttentionRolloutTest, MultipliesLayersWithTheirResiduals) {
  // The values of the first example must have no effect on the rollout of the
  // second example.
  std::vector<AttentionMap<float>> layers(2);
  layers[0].shape = layers[1].shape = {2, 2, 2, 2};
  // In the second example, the means over heads are [[0, 1], [1, 0]] in layer 0
  // and [[1, 0], [1, 0]] in layer 1.
  layers[0].weights = {9,  9,  9, 9, 9,   9,   9, 9,  //
                       .5, .5, 1, 0, -.5, 1.5, 1, 0};
  layers[1].weights = {9, 9, 9, 9, 9, 9, 9, 9,  //
                       1, 0, 1, 0, 1, 0, 1, 0};
  // The expected matrix is the product of [[1, 0], [.5, .5]] for layer 1 and
  // [[.5, .5], [.5, .5]] for layer 0.
  EXPECT_THAT(AttentionRollout<float>(layers, 1), ElementsAre(.5, .5, .5, .5));
  // With layer 0 only, the expected matrix is [[.5, .5], [.5, .5]].
  EXPECT_THAT(AttentionRollout<float>({layers.data(), 1}, 1),
              ElementsAre(.5, .5, .5, .5));
  EXPECT_THAT(AttentionRollout<float>({&layers[1], 1}, 1),
              ElementsAre(1, 0, .5, .5));
}

TEST(AttentionRolloutTest, AReadoutHasItsRowsOfTheProduct) {
  // AttentionRolloutTo() must return the readout times the matrix of
  // AttentionRollout(), even if the rows of the weights do not sum to 1.
  std::vector<AttentionMap<float>> layers(3);
  float next = 0.1F;
  for (AttentionMap<float>& layer : layers) {
    layer.shape = {1, 2, 3, 3};
    for (int i = 0; i < 18; ++i) {
      layer.weights.push_back(next);
      next = next > 0.8F ? next - 0.75F : next + 0.13F;
    }
  }
  const std::vector<double> product = AttentionRollout<float>(layers, 0);
  EXPECT_THAT(
      AttentionRolloutTo<float>({0, 1, 0}, layers, 0),
      Pointwise(DoubleNear(1e-12), {product[3], product[4], product[5]}));
  const auto mean = [&](int i) {
    return .5 * product[i] + .25 * product[3 + i] + .25 * product[6 + i];
  };
  EXPECT_THAT(AttentionRolloutTo<float>({.5, .25, .25}, layers, 0),
              Pointwise(DoubleNear(1e-12), {mean(0), mean(1), mean(2)}));
}

TEST(AttentionRolloutDeathTest, NeedsALayer) {
  EXPECT_DEATH(AttentionRollout<float>({}, 0), "no layers");
}

}  // namespace
}  // namespace regard
