// Packets: what one register holds, for kernels that keep their numbers there.
// Arrays go through transcendental.h, with the same bits.
#ifndef AUTODIFF_KERNELS_PACKETS_H_
#define AUTODIFF_KERNELS_PACKETS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "Eigen/Core"

namespace regard {

template <typename T>
using Packet = typename Eigen::internal::packet_traits<T>::type;

template <typename T>
inline constexpr int64_t kPacketSize =
    Eigen::internal::unpacket_traits<Packet<T>>::size;

// The first `count` elements of x, fewer than a packet, then zeros. Where the
// processor has masks, nothing beyond them is touched and no copy made.
template <typename T>
Packet<T> LoadPart(const T* x, int64_t count) {
  namespace packet = Eigen::internal;
  using Traits = packet::unpacket_traits<Packet<T>>;
  if constexpr (Traits::masked_load_available) {
    using Mask = typename Traits::mask_t;
    return packet::ploadu<Packet<T>>(x, static_cast<Mask>((1 << count) - 1));
  } else {
    T elements[kPacketSize<T>] = {};
    std::copy_n(x, count, elements);
    return packet::ploadu<Packet<T>>(elements);
  }
}

// Writes the first `count` elements.
template <typename T>
void StorePart(T* x, const Packet<T>& elements, int64_t count) {
  namespace packet = Eigen::internal;
  using Traits = packet::unpacket_traits<Packet<T>>;
  if constexpr (Traits::masked_store_available) {
    using Mask = typename Traits::mask_t;
    packet::pstoreu(x, elements, static_cast<Mask>((1 << count) - 1));
  } else {
    T copy[kPacketSize<T>];
    packet::pstoreu(copy, elements);
    std::copy_n(copy, count, x);
  }
}

// exp(x). Eigen clamps the argument, so that exp(-inf) would be a small number.
template <typename T>
Packet<T> ExpPacket(const Packet<T>& x) {
  namespace packet = Eigen::internal;
  const T lowest = sizeof(T) == sizeof(float) ? T(-87) : T(-708);
  return packet::pselect(packet::pcmp_lt(x, packet::pset1<Packet<T>>(lowest)),
                         packet::pzero(x), packet::pexp(x));
}

template <typename T>
Packet<T> SigmoidPacket(const Packet<T>& x) {
  namespace packet = Eigen::internal;
  const Packet<T> one = packet::pset1<Packet<T>>(T(1));
  return packet::pdiv(one, packet::padd(one, ExpPacket<T>(packet::pnegate(x))));
}

// Eigen has no packet form for double; there every element is scalar.
template <typename T>
Packet<T> TanhPacket(const Packet<T>& x) {
  namespace packet = Eigen::internal;
  if constexpr (std::is_same_v<T, float>) {
    return packet::generic_fast_tanh_float(x);
  } else {
    T elements[kPacketSize<T>];
    packet::pstoreu(elements, x);
    for (T& element : elements) element = std::tanh(element);
    return packet::ploadu<Packet<T>>(elements);
  }
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_PACKETS_H_
