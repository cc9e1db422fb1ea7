#include "autodiff/kernels/lanes.h"

#include <cstdint>

#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

template <typename T>
LanePackets<T> Load(const T* lanes) {
  return LanePackets<T>::Generate([&](int64_t i) {
    return packet::ploadu<Packet<T>>(lanes + i * kPacketSize<T>);
  });
}

// The result of adding these numbers depends on the order.
TEST(LanePackets, AddsLanesInTheOrderOfFoldLanes) {
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    lanes[i] = (i % 3 == 0 ? -1.0F : 1.0F) / static_cast<float>(i + 3);
  }
  EXPECT_EQ(Load(lanes).Sum(), FoldLanes(lanes));
  double wide[kLanes];
  for (int i = 0; i < kLanes; ++i) wide[i] = 1.0 / (i * i + 3);
  EXPECT_EQ(Load(wide).Sum(), FoldLanes(wide));
}

TEST(LanePackets, SumOfZeroLanesIsZero) {
  EXPECT_EQ(LanePackets<float>::Zero().Sum(), 0);
}

TEST(CountOfPacket, SplitsARemainderAmongThePackets) {
  for (int64_t count = 0; count < kLanes; ++count) {
    int64_t sum = 0;
    for (int64_t i = 0; i < kLanePackets<float>; ++i) {
      const int64_t part = CountOfPacket<float>(count, i);
      EXPECT_LE(part, kPacketSize<float>);
      sum += part;
    }
    EXPECT_EQ(sum, count);
  }
}

}  // namespace
}  // namespace regard
