// The sixteen lanes of reduce.h in vector registers.
//
// A sum in lanes has the same bits at all instruction-set levels with fused
// multiply-add, whatever the size of a packet: element i of a row is added to
// lane i % kLanes, and FoldLanes() adds the lanes.
#ifndef AUTODIFF_KERNELS_LANES_H_
#define AUTODIFF_KERNELS_LANES_H_

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

// The number of packets that contain the lanes.
template <typename T>
inline constexpr int64_t kLanePackets = kLanes / kPacketSize<T>;

// One number per lane.
template <typename T>
struct LanePackets {
  static_assert(kLanes % kPacketSize<T> == 0);

  Packet<T> packets[kLanePackets<T>];

  // Returns lanes whose packet i is f(i).
  template <typename F>
  static LanePackets Generate(F f) {
    LanePackets lanes;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanePackets<T>; ++i) lanes.packets[i] = f(i);
    return lanes;
  }

  static LanePackets Zero() {
    return Generate([](int64_t) { return packet::pset1<Packet<T>>(T(0)); });
  }

  // Returns the sum of all lanes.
  T Sum() const {
    if constexpr (kLanePackets<T> == 1) {
      // Eigen adds in the order of FoldLanes().
      return packet::predux(packets[0]);
    } else {
      T lanes[kLanes];
      for (int64_t i = 0; i < kLanePackets<T>; ++i) {
        packet::pstoreu(lanes + i * kPacketSize<T>, packets[i]);
      }
      return FoldLanes(lanes);
    }
  }
};

// Returns how many of the last `count` elements of a row belong to packet i of
// the lanes. `count` is less than kLanes.
template <typename T>
int64_t CountOfPacket(int64_t count, int64_t i) {
  return std::clamp<int64_t>(count - i * kPacketSize<T>, 0, kPacketSize<T>);
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_LANES_H_
