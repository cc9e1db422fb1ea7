#include "data/target_lengths.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(TargetLengthsTest, KeepsTheLongestAndTheLargestRatio) {
  TargetLengths lengths;
  lengths.Add(/*source_ids=*/10, /*target_ids=*/49, /*unknown_ids=*/0);
  lengths.Add(5, 25, 2);
  lengths.Add(4, 1, 1);
  EXPECT_EQ(lengths.longest, 49);
  EXPECT_EQ(lengths.ratio, 5);
  EXPECT_EQ(lengths.unknown, 3);
}

TEST(TargetLengthsTest, ReadsTheNumbersThatItWrites) {
  TargetLengths lengths;
  lengths.Add(3, 10, 0);
  const TargetLengths read = TargetLengths::FromNumbers(lengths.ToNumbers());
  EXPECT_EQ(read.longest, 10);
  EXPECT_EQ(read.ratio, 10.0 / 3);
  EXPECT_EQ(read.unknown, 0);
}

TEST(TargetLengthsTest, InvalidNumbersAreIgnored) {
  EXPECT_FALSE(TargetLengths::FromNumbers({}).unknown.has_value());
  EXPECT_EQ(TargetLengths::FromNumbers({}).longest, 0);
  const TargetLengths read = TargetLengths::FromNumbers(
      {{"longest_target", std::nan("")},
       {"target_source_ratio", -1},
       {"unknown_target_words", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(read.longest, 0);
  EXPECT_EQ(read.ratio, 0);
  EXPECT_GT(*read.unknown, 0);
}

}  // namespace
}  // namespace regard
