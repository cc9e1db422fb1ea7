#include "autodiff/kernels/transcendental.h"

#include <cmath>

#include "Eigen/Core"
#include "autodiff/instantiate.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

namespace {

// Applies `f` to n elements, packet by packet. The tail is padded to a packet.
template <typename T, typename F>
void ForEachPacket(const T* x, T* y, int64_t n, F f) {
  constexpr int64_t kSize = kPacketSize<T>;
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    packet::pstoreu(y + i, f(packet::ploadu<Packet<T>>(x + i)));
  }
  if (i < n) StorePart(y + i, f(LoadPart(x + i, n - i)), n - i);
}

}  // namespace

template <typename T>
void Exp(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return ExpPacket(p); });
}

template <typename T>
T ExpAndSum(const T* x, T shift, int64_t n, T* y) {
  constexpr int64_t kSize = kPacketSize<T>;
  constexpr int64_t kPackets = kLanes / kSize;
  const Packet<T> subtrahend = packet::pset1<Packet<T>>(shift);
  const auto exp = [&](const Packet<T>& p) {
    return ExpPacket(packet::psub(p, subtrahend));
  };
  Packet<T> sums[kPackets];
  for (Packet<T>& sum : sums) sum = packet::pset1<Packet<T>>(T(0));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kPackets; ++j) {
      const Packet<T> p = exp(packet::ploadu<Packet<T>>(x + i + j * kSize));
      packet::pstoreu(y + i + j * kSize, p);
      sums[j] = packet::padd(sums[j], p);
    }
  }
  T lanes[kLanes];
  for (int64_t j = 0; j < kPackets; ++j) {
    packet::pstoreu(lanes + j * kSize, sums[j]);
  }
  ForEachPacket(x + i, y + i, n - i, exp);
  for (int64_t j = 0; i + j < n; ++j) lanes[j] += y[i + j];
  return FoldLanes(lanes);
}

template <typename T>
void Log(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return packet::plog(p); });
}

template <typename T>
void Sigmoid(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return SigmoidPacket(p); });
}

template <typename T>
void Tanh(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return TanhPacket(p); });
}

// In double, Eigen has no packet functions for the sine and cosine.
template <typename T>
void Sin(const T* x, T* y, int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    ForEachPacket(x, y, n, [](const Packet<T>& p) { return packet::psin(p); });
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = std::sin(x[i]);
  }
}

template <typename T>
void Cos(const T* x, T* y, int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    ForEachPacket(x, y, n, [](const Packet<T>& p) { return packet::pcos(p); });
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = std::cos(x[i]);
  }
}

template <typename T>
void Erf(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return ErfPacket(p); });
}

REGARD_INSTANTIATE_FUNCTION(Exp);
REGARD_INSTANTIATE_FUNCTION(ExpAndSum);
REGARD_INSTANTIATE_FUNCTION(Log);
REGARD_INSTANTIATE_FUNCTION(Sigmoid);
REGARD_INSTANTIATE_FUNCTION(Tanh);
REGARD_INSTANTIATE_FUNCTION(Sin);
REGARD_INSTANTIATE_FUNCTION(Cos);
REGARD_INSTANTIATE_FUNCTION(Erf);

}  // namespace regard
