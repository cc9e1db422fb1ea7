// The alignment that maps of several heads and layers come to.
#include "seq2seq/decoder.h"

#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(MemoryAlignmentTest, IsTheMeanOverHeadsOfTheLastMapOverTheMemory) {
  Tape<double> tape;
  const std::vector<AttentionMap<double>> maps = {
      {"first", true, tape.Full({2, 1, 2, 1}, 7)},
      {"second", true, tape.Constant({2, 2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
      {"self", false, tape.Full({2, 1, 2, 5}, 9)}};
  const Var<double> alignment =
      MemoryAlignment<double>(absl::MakeConstSpan(maps));
  EXPECT_EQ(alignment.shape(), Shape({2, 1, 2}));
  EXPECT_THAT(alignment.span(), ElementsAre(2, 3, 6, 7));
}

TEST(MemoryAlignmentTest, IsEmptyWithoutAMapOverTheMemory) {
  Tape<float> tape;
  EXPECT_FALSE(MemoryAlignment<float>({}).has_value());
  const std::vector<AttentionMap<float>> maps = {
      {"self", false, tape.Full({1, 1, 1, 1}, 1)}};
  EXPECT_FALSE(MemoryAlignment<float>(absl::MakeConstSpan(maps)).has_value());
}

}  // namespace
}  // namespace regard
