#include "experiments/training/example_order.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int64_t> Order(uint64_t seed, int64_t epoch, int64_t size,
                           int64_t count) {
  std::vector<int64_t> order;
  ExampleOrder(seed, epoch, size, count, &order);
  return order;
}

TEST(ExampleOrderTest, VisitsEveryExampleOnce) {
  std::vector<int64_t> order = Order(1, 0, 5, 5);
  std::sort(order.begin(), order.end());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ExampleOrderTest, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(Order(1, 2, 50, 50), Order(1, 2, 50, 50));
  EXPECT_NE(Order(1, 2, 50, 50), Order(1, 3, 50, 50));
  EXPECT_NE(Order(1, 2, 50, 50), Order(2, 2, 50, 50));
}

TEST(ExampleOrderTest, AShorterOrderIsThePrefixOfTheWhole) {
  const std::vector<int64_t> whole = Order(1, 2, 50, 50);
  const std::vector<int64_t> part = Order(1, 2, 50, 7);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

TEST(ExampleOrderTest, NothingAndOne) {
  EXPECT_THAT(Order(1, 0, 0, 0), IsEmpty());
  EXPECT_THAT(Order(1, 0, 1, 1), ElementsAre(0));
}

TEST(ExampleOrderTest, EveryExampleIsFirstEquallyOften) {
  std::vector<int> counts(4);
  for (int seed = 0; seed < 4000; ++seed) {
    ++counts[Order(seed, 0, 4, 1)[0]];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 110);
}

}  // namespace
}  // namespace regard
