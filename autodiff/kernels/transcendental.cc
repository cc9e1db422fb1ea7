#include "autodiff/kernels/transcendental.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "Eigen/Core"
#include "unsupported/Eigen/SpecialFunctions"

namespace regard {

namespace {

namespace packet = Eigen::internal;

template <typename T>
using Packet = typename packet::packet_traits<T>::type;

// Applies `f`, packet to packet, to n elements; the tail is padded to a packet.
template <typename T, typename F>
void ForEachPacket(const T* x, T* y, int64_t n, F f) {
  constexpr int64_t kSize = packet::unpacket_traits<Packet<T>>::size;
  int64_t i = 0;
  for (; i + kSize <= n; i += kSize) {
    packet::pstoreu(y + i, f(packet::ploadu<Packet<T>>(x + i)));
  }
  if (i == n) return;
  alignas(64) T tail[kSize];
  for (int64_t j = 0; j < kSize; ++j) tail[j] = i + j < n ? x[i + j] : T(0);
  packet::pstoreu(tail, f(packet::ploadu<Packet<T>>(tail)));
  for (int64_t j = 0; i + j < n; ++j) y[i + j] = tail[j];
}

// Eigen clamps the argument, so that exp(-inf) would be a small number.
template <typename T>
Packet<T> ExpPacket(const Packet<T>& x) {
  const T lowest = sizeof(T) == sizeof(float) ? T(-87) : T(-708);
  return packet::pselect(packet::pcmp_lt(x, packet::pset1<Packet<T>>(lowest)),
                         packet::pzero(x), packet::pexp(x));
}

template <typename T>
Packet<T> SigmoidPacket(const Packet<T>& x) {
  const Packet<T> one = packet::pset1<Packet<T>>(T(1));
  return packet::pdiv(one, packet::padd(one, ExpPacket<T>(packet::pnegate(x))));
}

}  // namespace

template <typename T>
void Exp(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return ExpPacket<T>(p); });
}

template <typename T>
void Log(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<T>& p) { return packet::plog(p); });
}

template <typename T>
void Sigmoid(const T* x, T* y, int64_t n) {
  ForEachPacket(x, y, n,
                [](const Packet<T>& p) { return SigmoidPacket<T>(p); });
}

// Eigen has no packet form of these two for double; there every element is
// scalar, so the position does not matter either.
template <>
void Tanh(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
}

template <>
void Tanh(const float* x, float* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<float>& p) {
    return packet::generic_fast_tanh_float(p);
  });
}

template <>
void Erf(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = std::erf(x[i]);
}

template <>
void Erf(const float* x, float* y, int64_t n) {
  ForEachPacket(x, y, n, [](const Packet<float>& p) {
    return packet::generic_fast_erf_float(p);
  });
}

template void Exp(const float*, float*, int64_t);
template void Exp(const double*, double*, int64_t);
template void Log(const float*, float*, int64_t);
template void Log(const double*, double*, int64_t);
template void Sigmoid(const float*, float*, int64_t);
template void Sigmoid(const double*, double*, int64_t);

}  // namespace regard
