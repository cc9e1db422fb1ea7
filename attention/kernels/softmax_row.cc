#include "attention/kernels/softmax_row.h"

#include <bit>
#include <cstring>
#include <limits>

#include "Eigen/Core"
#include "autodiff/instantiate.h"
#include "autodiff/kernels/lanes.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

namespace {

template <typename T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

template <typename T>
Packet<T> Load(const T* x) {
  return packet::ploadu<Packet<T>>(x);
}

// Returns `x` where the mask's bits are set, and -inf elsewhere.
template <typename T>
Packet<T> Select(const PacketIntegers<T>& mask, const Packet<T>& x) {
  return packet::pselect(std::bit_cast<Packet<T>>(mask), x,
                         packet::pset1<Packet<T>>(kMinusInfinity<T>));
}

// Returns `x` where the bytes of `visible` are not 0, and -inf elsewhere.
template <typename T>
Packet<T> Hide(const Packet<T>& x, const uint8_t* visible) {
  typedef int8_t Bytes __attribute__((vector_size(kPacketSize<T>)));
  Bytes bytes;
  std::memcpy(&bytes, visible, sizeof(bytes));
  return Select<T>(__builtin_convertvector(bytes != 0, PacketIntegers<T>), x);
}

// Loads the first `count` elements of x. Masked elements, and all elements
// after the first `count`, are -inf.
template <typename T>
Packet<T> HidePart(const T* x, const uint8_t* visible, int64_t count) {
  // Collects one bit per element in a register. Bytes written one by one would
  // have to reach the cache before they can be read as a packet.
  int bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    bits |= (visible == nullptr || visible[i] != 0) << i;
  }
  PacketIntegers<T> bit_of_element;
  for (int i = 0; i < kPacketSize<T>; ++i) bit_of_element[i] = 1 << i;
  return Select<T>((bits & bit_of_element) != 0, LoadPart(x, count));
}

// Calls f(packet of the lanes, its first element) for `size` elements, a
// multiple of kLanes, from element 0 on.
template <typename T, typename F>
void ForEachPacket(int64_t size, F f) {
  for (int64_t i = 0; i < size; i += kLanes) {
#pragma GCC unroll 8
    for (int64_t lane = 0; lane < kLanePackets<T>; ++lane) {
      f(lane, i + lane * kPacketSize<T>);
    }
  }
}

template <bool kMean, typename T>
T Divide(int64_t n, const T* values, T* weights) {
  constexpr int64_t kSize = kPacketSize<T>;
  using Lanes = LanePackets<T>;
  const int64_t whole = n / kLanes * kLanes;
  const auto load_rest = [&](const T* x) {
    return Lanes::Generate([&](int64_t lane) {
      return LoadPart(x + whole + lane * kSize,
                      CountOfPacket<T>(n - whole, lane));
    });
  };
  const Packet<T> zero = packet::pset1<Packet<T>>(T(0));
  const Lanes last = whole < n ? load_rest(weights) : Lanes::Zero();
  Lanes sums = last;
  ForEachPacket<T>(whole, [&](int64_t lane, int64_t i) {
    sums.packets[lane] = packet::padd(sums.packets[lane], Load(weights + i));
  });
  const T sum = sums.Sum();
  const Packet<T> scale =
      packet::pset1<Packet<T>>(sum > T(0) ? T(1) / sum : T(0));
  Lanes means = Lanes::Zero();
  const auto add_mean = [&](int64_t lane, const Packet<T>& weight,
                            const Packet<T>& value) {
    means.packets[lane] =
        packet::padd(means.packets[lane],
                     packet::pselect(packet::pcmp_eq(weight, zero), zero,
                                     packet::pmul(weight, value)));
  };
  ForEachPacket<T>(whole, [&](int64_t lane, int64_t i) {
    const Packet<T> weight = packet::pmul(Load(weights + i), scale);
    packet::pstoreu(weights + i, weight);
    if constexpr (kMean) add_mean(lane, weight, Load(values + i));
  });
  if (whole < n) {
    Lanes rest = Lanes::Zero();
    if constexpr (kMean) rest = load_rest(values);
#pragma GCC unroll 8
    for (int64_t lane = 0; lane < kLanePackets<T>; ++lane) {
      const Packet<T> weight = packet::pmul(last.packets[lane], scale);
      StorePart(weights + whole + lane * kSize, weight,
                CountOfPacket<T>(n - whole, lane));
      if constexpr (kMean) add_mean(lane, weight, rest.packets[lane]);
    }
  }
  return kMean ? means.Sum() : T(0);
}

}  // namespace

// Memory is read and written in whole packets, and the last, partial packet
// stays in a register. A load that is wider or narrower than the store before
// it would cost more than the arithmetic.
template <typename T>
void ShiftByMax(const T* x, const uint8_t* visible, int64_t n, T* shifted) {
  constexpr int64_t kSize = kPacketSize<T>;
  const int64_t whole = n / kSize * kSize;
  const int64_t rest = n - whole;
  Packet<T> last = packet::pset1<Packet<T>>(kMinusInfinity<T>);
  if (rest > 0) {
    last = HidePart(x + whole, visible == nullptr ? nullptr : visible + whole,
                    rest);
  }
  Packet<T> maxima = last;
  for (int64_t i = 0; i < whole; i += kSize) {
    Packet<T> p = Load(x + i);
    if (visible != nullptr) {
      p = Hide<T>(p, visible + i);
      packet::pstoreu(shifted + i, p);
    }
    maxima = packet::pmax(maxima, p);
  }
  if (visible != nullptr) x = shifted;
  T max = packet::predux_max(maxima);
  if (max == kMinusInfinity<T>) max = T(0);  // -inf - (-inf) is NaN
  const Packet<T> shift = packet::pset1<Packet<T>>(max);
  for (int64_t i = 0; i < whole; i += kSize) {
    packet::pstoreu(shifted + i, packet::psub(Load(x + i), shift));
  }
  if (rest > 0) StorePart(shifted + whole, packet::psub(last, shift), rest);
}

template <typename T>
void Normalize(int64_t n, T* weights) {
  Divide<false, T>(n, nullptr, weights);
}

template <typename T>
T NormalizeAndMean(int64_t n, const T* values, T* weights) {
  return Divide<true>(n, values, weights);
}

REGARD_INSTANTIATE_FUNCTION(ShiftByMax);
REGARD_INSTANTIATE_FUNCTION(Normalize);
REGARD_INSTANTIATE_FUNCTION(NormalizeAndMean);

}  // namespace regard
