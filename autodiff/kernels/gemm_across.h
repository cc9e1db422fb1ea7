// Matrix products of a few rows with a transposed right operand, which is read
// once and in place. Square blocks of this operand are transposed in registers
// and never stored: for few rows, storing panels would take longer than the
// product.
//
// An element is computed by the same chain of multiply-adds as in a tile
// (gemm_kernel.h), so the results are bit-identical.
#ifndef AUTODIFF_KERNELS_GEMM_ACROSS_H_
#define AUTODIFF_KERNELS_GEMM_ACROSS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/gemm_kernel.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/packets.h"

namespace regard {

// Inner indices first .. first + depth - 1 of columns col .. col + cols - 1 of
// a transposed right operand.
template <typename T>
struct TransposedColumns {
  const ConstMatrix<T>& b;
  int64_t first, depth, col, cols;
  // The first element of the next group of columns, for prefetching. The next
  // group has as many columns as this one. Null if this group is the last.
  const T* next;

  const T* column(int64_t i) const { return At(b, first, col + i); }
};

// Multiplies kRows rows, whose elements are contiguous, with kPackets packets
// of columns. The last packet may be incomplete.
template <typename T, int kRows, int kPackets>
void MultiplyRowsTransposed(const GemmLeftRows<T>& a,
                            const TransposedColumns<T>& across,
                            const GemmResultTile<T>& c) {
  constexpr int64_t kSize = kPacketSize<T>;
  // The prefetch distance in elements. Memory delivers this many elements in a
  // fifth of a microsecond. A larger distance needs more buffers than a core
  // has.
  constexpr int64_t kAhead = kSize * (kPackets == 1 ? 8 : 3);
  Packet<T> sums[kRows][kPackets];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kPackets; ++j) {
      sums[i][j] = packet::pset1<Packet<T>>(T(0));
    }
  }
  const auto multiply_add = [&](const packet::Square<T>& square, int j,
                                int64_t l, int64_t depth) {
#pragma GCC unroll 16
    for (int64_t u = 0; u < kSize; ++u) {
      if (u >= depth) return;
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Packet<T> factor =
            packet::pset1<Packet<T>>(a.data[i * a.row_step + l + u]);
        sums[i][j] = packet::pmadd(factor, square.packet[u], sums[i][j]);
      }
    }
  };
  const int64_t stride = across.b.stride;
  int64_t l = 0;
  const bool full = across.cols == kPackets * kSize;
  for (; full && l + kSize <= across.depth; l += kSize) {
    const T* ahead = across.next;
    if (l + kAhead < across.depth) {
      ahead = across.column(0) + l + kAhead;
    } else if (ahead != nullptr) {
      ahead += l + kAhead - across.depth;
    }
#pragma GCC unroll 2
    for (int j = 0; j < kPackets; ++j) {
#pragma GCC unroll 16
      for (int64_t i = 0; ahead != nullptr && i < kSize; ++i) {
        __builtin_prefetch(ahead + (j * kSize + i) * stride);
      }
      multiply_add(LoadSquare<true, true>(across.column(j * kSize) + l, stride,
                                          kSize, kSize),
                   j, l, kSize);
    }
  }
  for (; l < across.depth; l += kSize) {
    const int64_t depth = std::min(kSize, across.depth - l);
#pragma GCC unroll 2
    for (int j = 0; j < kPackets; ++j) {
      const T* const x = across.column(j * kSize) + l;
      const int64_t cols = std::min(kSize, across.cols - j * kSize);
      multiply_add(depth == kSize
                       ? LoadSquare<true, false>(x, stride, depth, cols)
                       : LoadSquare<false, false>(x, stride, depth, cols),
                   j, l, depth);
    }
  }
  StoreTile<T, kRows, kPackets>(sums, c);
}

// Returns the number of packets of columns that are processed at a time. With
// one row, each packet is one chain of multiply-adds, and two chains hide each
// other's latency. More packets would be loaded from memory more slowly.
// Columns that are a multiple of 4 KiB apart compete for few sets of the
// first-level cache, so one packet is faster.
template <typename T>
int PacketsPerPass(int64_t rows, int64_t stride) {
  constexpr int64_t kFewPlaces = 4096 / sizeof(T);
  return rows == 1 && stride % kFewPlaces != 0 ? 2 : 1;
}

// Multiplies any number of rows with up to PacketsPerPass() packets of columns.
// Later groups of rows read the columns from a cache.
template <typename T>
void MultiplyTransposed(GemmLeftRows<T> a, TransposedColumns<T> across,
                        int64_t rows, GemmResultTile<T> c) {
  if (across.cols > kPacketSize<T>) {
    return MultiplyRowsTransposed<T, 1, 2>(a, across, c);
  }
  const auto run = [&](auto count) {
    MultiplyRowsTransposed<T, count, 1>(a, across, c);
    a.data += count * a.row_step;
    c.data += count * c.stride;
    if (c.addend.data != nullptr) c.addend.data += count * c.addend.stride;
    rows -= count;
    across.next = nullptr;
  };
  while (rows >= kGemmRows) run(std::integral_constant<int, kGemmRows>());
  if (kGemmRows > 4 && rows >= 4) run(std::integral_constant<int, 4>());
  if (rows >= 2) run(std::integral_constant<int, 2>());
  if (rows >= 1) run(std::integral_constant<int, 1>());
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_ACROSS_H_
