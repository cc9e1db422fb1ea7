// The inner part of the matrix product: a tile of the result in registers.
//
// Every element of a tile is one chain of multiply-adds over the inner extent,
// whatever the tile's height and width: its bits depend on nothing but its row
// and its column.
#ifndef AUTODIFF_KERNELS_GEMM_KERNEL_H_
#define AUTODIFF_KERNELS_GEMM_KERNEL_H_

#include <cstdint>

#include "Eigen/Core"

namespace regard {

template <typename T>
using GemmPacket = typename Eigen::internal::packet_traits<T>::type;

// Elements of a packet.
template <typename T>
inline constexpr int64_t kGemmPacket = Eigen::internal::packet_traits<T>::size;

// Columns of a panel, which is how the right operand is packed: [depth, columns
// of a panel], 0 past the last column.
inline constexpr int kGemmPackets = 3;
template <typename T>
inline constexpr int64_t kGemmPanel = kGemmPackets* kGemmPacket<T>;

// Rows of the highest tile: with a panel's columns it fills the registers.
inline constexpr int kGemmRows =
    EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 8 : 4;

// The rows of the left operand that meet a panel: element (i, l) is
// data[i * row_step + l * depth_step].
template <typename T>
struct GemmRows {
  const T* data;
  int64_t row_step;
  int64_t depth_step;
};

// The tile to write: c (+)= alpha times the chain. `cols` may be less than the
// packets hold.
template <typename T>
struct GemmTile {
  T* data;
  int64_t stride;
  int64_t cols;
  T alpha;
  bool add;
};

// kRows rows against kPackets packets of a panel whose rows are b_step apart.
template <typename T, int kRows, int kPackets>
void RunGemmTile(const GemmRows<T>& a, const T* b, int64_t b_step,
                 int64_t depth, const GemmTile<T>& c) {
  using Eigen::internal::padd;
  using Eigen::internal::ploadu;
  using Eigen::internal::pmadd;
  using Eigen::internal::pmul;
  using Eigen::internal::pset1;
  using Eigen::internal::pstoreu;
  using Packet = GemmPacket<T>;
  constexpr int64_t kSize = kGemmPacket<T>;
  Packet sums[kRows][kPackets];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) sums[i][j] = pset1<Packet>(T(0));
  }
  // The result is far away, and not needed before the end of the chains.
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) {
      __builtin_prefetch(c.data + i * c.stride + j * kSize, /*rw=*/1);
    }
  }
  const T* rows = a.data;
  for (int64_t l = 0; l < depth; ++l) {
    Packet of_b[kPackets];
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) of_b[j] = ploadu<Packet>(b + j * kSize);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const Packet factor = pset1<Packet>(rows[i * a.row_step]);
#pragma GCC unroll 3
      for (int j = 0; j < kPackets; ++j) {
        sums[i][j] = pmadd(factor, of_b[j], sums[i][j]);
      }
    }
    rows += a.depth_step;
    b += b_step;
  }
  const Packet alpha = pset1<Packet>(c.alpha);
  if (c.cols == kPackets * kSize) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kPackets; ++j) {
        T* const out = c.data + i * c.stride + j * kSize;
        const Packet product = pmul(alpha, sums[i][j]);
        pstoreu(out, c.add ? padd(ploadu<Packet>(out), product) : product);
      }
    }
    return;
  }
  T wide[kRows * kPackets * kSize];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) {
      pstoreu(wide + (i * kPackets + j) * kSize, sums[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    T* const out = c.data + i * c.stride;
    for (int64_t j = 0; j < c.cols; ++j) {
      const T product = c.alpha * wide[i * kPackets * kSize + j];
      out[j] = c.add ? out[j] + product : product;
    }
  }
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_KERNEL_H_
