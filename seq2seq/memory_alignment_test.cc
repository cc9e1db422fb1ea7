#include "seq2seq/memory_alignment.h"

#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(MemoryAlignmentTest, UsesTheChosenLayerAndHead) {
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
  const AttentionMap<float> none = MemoryAlignment<float>({});
  EXPECT_THAT(none.weights, IsEmpty());
  EXPECT_FALSE(none.over_memory);
  EXPECT_THAT(MemoryAlignment(absl::MakeConstSpan(kMaps).first(1)).weights,
              IsEmpty());
}

}  // namespace
}  // namespace regard
