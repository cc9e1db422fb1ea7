// Packets: the contents of one vector register, for kernels that keep their
// numbers in registers. The array functions in transcendental.h are
// bit-identical to the packet functions.
//
// This is the only file that refers to Eigen's internal namespace.
#ifndef AUTODIFF_KERNELS_PACKETS_H_
#define AUTODIFF_KERNELS_PACKETS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "Eigen/Core"
#include "unsupported/Eigen/SpecialFunctions"

namespace regard {

template <typename T>
using Packet = typename Eigen::internal::packet_traits<T>::type;

template <typename T>
inline constexpr int64_t kPacketSize =
    Eigen::internal::unpacket_traits<Packet<T>>::size;

namespace packet {

using Eigen::internal::padd;
using Eigen::internal::pcmp_eq;
using Eigen::internal::pcmp_lt;
using Eigen::internal::pcos;
using Eigen::internal::pdiv;
using Eigen::internal::ploadu;
using Eigen::internal::plog;
using Eigen::internal::pmadd;
using Eigen::internal::pmax;
using Eigen::internal::pmin;
using Eigen::internal::pmul;
using Eigen::internal::pnegate;
using Eigen::internal::predux;
using Eigen::internal::predux_max;
using Eigen::internal::pselect;
using Eigen::internal::pset1;
using Eigen::internal::psin;
using Eigen::internal::pstoreu;
using Eigen::internal::psub;
using Eigen::internal::pzero;

// A square of packets. Transpose() transposes it in place.
template <typename T>
using Square = Eigen::internal::PacketBlock<Packet<T>, kPacketSize<T>>;

template <typename Block>
inline void Transpose(Block& square) {
  Eigen::internal::ptranspose(square);
}

#ifdef __AVX512F__
// Takes 64 instructions. Eigen's version works on halves of packets and takes
// twice as many. The quarters of every four packets are transposed first. Then
// quarters are exchanged between packets.
inline void Transpose(Square<float>& square) {
  __m512(&x)[16] = square.packet;
  __m512 y[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(x[i], x[i + 1]));
    const __m512d low23 =
        _mm512_castps_pd(_mm512_unpacklo_ps(x[i + 2], x[i + 3]));
    const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(x[i], x[i + 1]));
    const __m512d high23 =
        _mm512_castps_pd(_mm512_unpackhi_ps(x[i + 2], x[i + 3]));
    y[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23));
    y[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23));
    y[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23));
    y[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    // The quarters 0 and 2 (even), or 1 and 3 (odd), of two packets.
    const __m512 even04 = _mm512_shuffle_f32x4(y[i], y[i + 4], 0x88);
    const __m512 odd04 = _mm512_shuffle_f32x4(y[i], y[i + 4], 0xdd);
    const __m512 even8c = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0x88);
    const __m512 odd8c = _mm512_shuffle_f32x4(y[i + 8], y[i + 12], 0xdd);
    x[i] = _mm512_shuffle_f32x4(even04, even8c, 0x88);
    x[i + 4] = _mm512_shuffle_f32x4(odd04, odd8c, 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(even04, even8c, 0xdd);
    x[i + 12] = _mm512_shuffle_f32x4(odd04, odd8c, 0xdd);
  }
}
#endif

}  // namespace packet

// A vector of integers. It has as many elements as a Packet<T>, and each
// element is as wide as T.
template <typename T>
struct PacketIntegersOf {
  using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef Integer Type __attribute__((vector_size(sizeof(Packet<T>))));
};
template <typename T>
using PacketIntegers = typename PacketIntegersOf<T>::Type;

// Loads the first `count` elements of x, followed by zeros. `count` must not
// exceed the size of a packet. Does not access memory after these elements.
template <typename T>
Packet<T> LoadPart(const T* x, int64_t count) {
  using Traits = Eigen::internal::unpacket_traits<Packet<T>>;
  if constexpr (Traits::masked_load_available) {
    using Mask = typename Traits::mask_t;
    return packet::ploadu<Packet<T>>(x, static_cast<Mask>((1 << count) - 1));
  } else {
    T elements[kPacketSize<T>] = {};
    std::copy_n(x, count, elements);
    return packet::ploadu<Packet<T>>(elements);
  }
}

// Stores the first `count` elements. `count` must not exceed the size of a
// packet. Does not write memory after these elements.
template <typename T>
void StorePart(T* x, const Packet<T>& elements, int64_t count) {
  using Traits = Eigen::internal::unpacket_traits<Packet<T>>;
  if constexpr (Traits::masked_store_available) {
    using Mask = typename Traits::mask_t;
    packet::pstoreu(x, elements, static_cast<Mask>((1 << count) - 1));
  } else {
    T copy[kPacketSize<T>];
    packet::pstoreu(copy, elements);
    std::copy_n(copy, count, x);
  }
}

// exp(x) = 2^n exp(r), where n = floor(x / log(2)), so that exp(r) is in [1,
// 2). The result is inf for n > 127. It is 0 for n < -126, because the exact
// result is denormal. The error is at most 1.6 units in the last place, and 1.9
// without fused multiply-add. All instruction sets with fused multiply-add
// return the same bits.
inline Packet<float> ExpPacket(const Packet<float>& x) {
  using P = Packet<float>;
  const auto set = [](float number) { return packet::pset1<P>(number); };
  // For x >= 89, n is 128 and the result is inf. NaN remains NaN.
  const P clamped = packet::pmin(x, set(89));
  // Adding 1.5 * 2^23 rounds to an integer, which the low bits then contain.
  const P shift = set(0x1.8p23F);
  const P shifted =
      packet::padd(packet::pmadd(clamped, set(1.44269504F), set(-0.5F)), shift);
  const P n = packet::psub(shifted, shift);
  // log(2) as a sum of two terms (Cody and Waite): n times the first is exact.
  P r = packet::pmadd(n, set(-0.693359375F), clamped);
  r = packet::pmadd(n, set(2.12194440e-4F), r);
  // The polynomial of degree 6 that approximates exp best on [0, log(2)] among
  // polynomials that begin with 1 + r. Its relative error is 3e-9.
  P exp_r = set(0x1.f558e4p-10F);
  for (const float coefficient : {0x1.01d522p-7F, 0x1.56e044p-5F,
                                  0x1.55431cp-3F, 0x1.00004cp-1F, 1.0F, 1.0F}) {
    exp_r = packet::pmadd(exp_r, r, set(coefficient));
  }
  // 2^n has the exponent bits n + 127: 2^-127 reads as 0, and 2^128 as inf. The
  // bits are arbitrary for smaller n and for NaN.
  typedef uint32_t Bits __attribute__((vector_size(sizeof(P))));
  const Bits power = (std::bit_cast<Bits>(shifted) + 127) << 23;
  const P result = packet::pmul(exp_r, std::bit_cast<P>(power));
  // -87.336544 is log(2^-126). With AVX-512, this comparison compiles to one
  // masked instruction, unlike Eigen's pcmp_lt and pselect.
  return x < set(-87.336544F) ? set(0) : result;
}

// Computes exp(x) in double with Eigen's approximation. Eigen clamps the
// argument, so this function selects infinite, NaN and denormal results itself.
inline Packet<double> ExpPacket(const Packet<double>& x) {
  using P = Packet<double>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const P finite =
      packet::pselect(packet::pcmp_lt(x, packet::pset1<P>(-708.3964185322641)),
                      packet::pzero(x), Eigen::internal::pexp(x));
  return packet::pselect(packet::pcmp_lt(packet::pset1<P>(709.782712893384), x),
                         packet::pset1<P>(kInfinity), finite);
}

template <typename P>
P SigmoidPacket(const P& x) {
  const P one = packet::pset1<P>(1);
  return packet::pdiv(one, packet::padd(one, ExpPacket(packet::pnegate(x))));
}

inline Packet<float> TanhPacket(const Packet<float>& x) {
  return Eigen::internal::generic_fast_tanh_float(x);
}

// Clamps the result, because Eigen's approximation exceeds 1 by an ulp for some
// arguments near 4.
inline Packet<float> ErfPacket(const Packet<float>& x) {
  using P = Packet<float>;
  const P one = packet::pset1<P>(1);
  return packet::pmax(
      packet::pmin(Eigen::internal::generic_fast_erf_float(x), one),
      packet::pnegate(one));
}

template <typename F>
Packet<double> ApplyToElements(const Packet<double>& x, F f) {
  double elements[kPacketSize<double>];
  packet::pstoreu(elements, x);
  for (double& element : elements) element = f(element);
  return packet::ploadu<Packet<double>>(elements);
}

// Eigen has no vectorized tanh and erf for double.
inline Packet<double> TanhPacket(const Packet<double>& x) {
  return ApplyToElements(x, [](double element) { return std::tanh(element); });
}

inline Packet<double> ErfPacket(const Packet<double>& x) {
  return ApplyToElements(x, [](double element) { return std::erf(element); });
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_PACKETS_H_
