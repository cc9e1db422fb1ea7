#include "seq2seq/attention_maps.h"

#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttentionMap<double> Map(int64_t layer, bool over_memory, const Shape& shape,
                         const std::vector<double>& weights) {
  AttentionMap<double> map;
  map.layer = layer;
  map.over_memory = over_memory;
  map.shape = shape;
  map.weights = weights;
  return map;
}

const std::vector<AttentionMap<double>> kMaps = {
    Map(0, false, {2, 1, 1, 5}, std::vector<double>(10, 9)),
    Map(0, true, {2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
    Map(1, true, {2, 2, 1, 2}, std::vector<double>(8, 9))};

TEST(MemoryAlignmentTest, IsTheMeanOverHeadsOfTheLastMapOverTheMemory) {
  const AttentionMap<double> alignment =
      MemoryAlignment(absl::MakeConstSpan(kMaps).first(2));
  EXPECT_EQ(alignment.shape, Shape({2, 1, 1, 2}));
  EXPECT_THAT(alignment.weights, ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(MemoryAlignment<double>(kMaps).weights, ElementsAre(9, 9, 9, 9));
}

TEST(MemoryAlignmentTest, IsOfTheChosenLayerAndHead) {
  const auto aligned = [&](const AlignmentChoice& choice) {
    return MemoryAlignment<double>(kMaps, choice).weights;
  };
  EXPECT_THAT(aligned({.layer = 0}), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(aligned({.layer = 0, .head = 0}), ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(aligned({.layer = 0, .head = 1}), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(aligned({.head = 1}), ElementsAre(9, 9, 9, 9));
  EXPECT_DEATH(aligned({.layer = 2}), "of layer 2");
  EXPECT_DEATH(aligned({.head = 2}), "no head 2 of 2");
}

TEST(MemoryAlignmentTest, IsEmptyWithoutAMapOverTheMemory) {
  EXPECT_THAT(MemoryAlignment<float>({}).weights, IsEmpty());
  EXPECT_THAT(MemoryAlignment(absl::MakeConstSpan(kMaps).first(1)).weights,
              IsEmpty());
}

TEST(AttentionMapsTest, AreNamedByLayerAndKindAndJoinSteps) {
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  forward.BeginStep();
  const auto visit = [&](const Shape& shape, float value) {
    const NameScope<float> scope(tape, "attention");
    forward.Site("weights", tape.Full(shape, value));
    forward.Site("context", tape.Full(shape, value));
  };
  const auto maps = MapsOf(forward, {"*"}, [&] {
    {
      const NameScope<float> encoder(tape, "encoder");
      const NameScope<float> layer(tape, "layers", 1);
      const NameScope<float> self(tape, "self");
      visit({1, 2, 1, 2}, 0.5);
    }
    for (int t = 0; t < 2; ++t) {
      const NameScope<float> step(tape, "step", t);
      const NameScope<float> decoder(tape, "decoder");
      visit({2 - t, 1, 1, 2}, static_cast<float>(t + 1));
    }
  });
  ASSERT_EQ(maps.size(), 2);
  EXPECT_EQ(maps[0].name, "encoder.1.self");
  EXPECT_EQ(maps[0].layer, 1);
  EXPECT_FALSE(maps[0].over_memory);
  EXPECT_THAT(maps[0].weights, ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_EQ(maps[1].name, "attention");
  EXPECT_TRUE(maps[1].over_memory);
  EXPECT_EQ(maps[1].shape, Shape({2, 1, 2, 2}));
  // The second source has no second step.
  EXPECT_THAT(maps[1].weights, ElementsAre(1, 1, 2, 2, 1, 1, 0, 0));
  EXPECT_THAT(maps[1].gradients, IsEmpty());
  EXPECT_EQ(forward.probe(), nullptr);
}

}  // namespace
}  // namespace regard
