// The inner part of matrix products: a tile of the result in registers, and
// panels of the packed right operand.
//
// Every element of a tile is one chain of multiply-adds over the inner
// dimension, for any height and width of the tile. Its bits depend only on its
// row and its column.
#ifndef AUTODIFF_KERNELS_GEMM_KERNEL_H_
#define AUTODIFF_KERNELS_GEMM_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/packets.h"

namespace regard {

// The number of columns of a panel. The right operand is packed as panels
// [depth, kGemmPanel], with zeros past the last column.
inline constexpr int kGemmPackets = 3;
template <typename T>
inline constexpr int64_t kGemmPanel = kGemmPackets* kPacketSize<T>;

// The number of rows of the largest tile. With the columns of a panel, it fills
// the registers.
inline constexpr int kGemmRows =
    EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 8 : 4;

// The number of rows of a panel that are prefetched. The processor does not
// predict the next row by itself if rows are far apart.
inline constexpr int64_t kGemmAhead = 8;

// Rows of the left operand, to be multiplied with a panel. Element (i, l) is
// data[i * row_step + l * depth_step]. If the rows are read in place,
// depth_step is 1. If they are packed, row_step is 1 and depth_step is
// kGemmRows.
template <typename T>
struct GemmLeftRows {
  const T* data;
  int64_t row_step;
  int64_t depth_step;
};

// The matrix that a product is added to. `data` is null if there is no addend.
template <typename T>
struct GemmAddend {
  const T* data;
  int64_t stride;
};

// The tile to write: c = addend + alpha * (chain of multiply-adds). `cols` may
// be less than the size of the packets. The addend may be c itself.
template <typename T>
struct GemmResultTile {
  T* data;
  int64_t stride;
  int64_t cols;
  T alpha;
  GemmAddend<T> addend;
};

// Computes c = addend + alpha * sums.
template <typename T, int kRows, int kPackets>
inline __attribute__((always_inline)) void StoreTile(
    const Packet<T> (&sums)[kRows][kPackets], const GemmResultTile<T>& c) {
  using packet::padd;
  using packet::ploadu;
  using packet::pmul;
  using packet::pset1;
  constexpr int64_t kSize = kPacketSize<T>;
  // All packets but the last one are full.
  const int64_t last = c.cols - (kPackets - 1) * kSize;
  const Packet<T> alpha = pset1<Packet<T>>(c.alpha);
  const bool add = c.addend.data != nullptr;
  const auto store = [&](auto full) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
      for (int j = 0; j < kPackets; ++j) {
        const bool part = !full && j == kPackets - 1;
        Packet<T> product = pmul(alpha, sums[i][j]);
        if (add) {
          const T* const addend =
              c.addend.data + i * c.addend.stride + j * kSize;
          product =
              padd(part ? LoadPart(addend, last) : ploadu<Packet<T>>(addend),
                   product);
        }
        T* const out = c.data + i * c.stride + j * kSize;
        if (part) {
          StorePart(out, product, last);
        } else {
          packet::pstoreu(out, product);
        }
      }
    }
  };
  if (last == kSize) {
    store(std::true_type());
  } else {
    store(std::false_type());
  }
}

// Multiplies kRows rows with kPackets packets of a panel with row step b_step.
template <typename T, int kRows, int kPackets>
void RunGemmTile(const GemmLeftRows<T>& a, const T* b, int64_t b_step,
                 int64_t depth, const GemmResultTile<T>& c) {
  using packet::ploadu;
  using packet::pmadd;
  using packet::pset1;
  constexpr int64_t kSize = kPacketSize<T>;
  Packet<T> sums[kRows][kPackets];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) sums[i][j] = pset1<Packet<T>>(T(0));
  }
  // Prefetches the result, which is needed only at the end of the chains.
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kPackets; ++j) {
      __builtin_prefetch(c.data + i * c.stride + j * kSize, /*rw=*/1);
    }
  }
  // If two indices are unrolled and the steps of packed rows are compile-time
  // constants, nearly all instructions are multiply-adds and loads. A core that
  // is shared with another program has no capacity for more instructions.
  const auto add_up = [&](auto in_place) {
    constexpr int64_t kUnrolled = 2;
    constexpr int64_t kDepthStep = in_place ? 1 : kGemmRows;
    const int64_t row_step = in_place ? a.row_step : 1;
    const T* rows = a.data;
    const auto multiply_add = [&](const T* of_a, const T* row_of_b) {
      Packet<T> of_b[kPackets];
#pragma GCC unroll 3
      for (int j = 0; j < kPackets; ++j) {
        of_b[j] = ploadu<Packet<T>>(row_of_b + j * kSize);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Packet<T> factor = pset1<Packet<T>>(of_a[i * row_step]);
#pragma GCC unroll 3
        for (int j = 0; j < kPackets; ++j) {
          sums[i][j] = pmadd(factor, of_b[j], sums[i][j]);
        }
      }
    };
    int64_t l = 0;
    for (; l + kGemmAhead + kUnrolled <= depth; l += kUnrolled) {
#pragma GCC unroll 2
      for (int64_t u = 0; u < kUnrolled; ++u) {
#pragma GCC unroll 3
        for (int j = 0; j < kPackets; ++j) {
          __builtin_prefetch(b + (u + kGemmAhead) * b_step + j * kSize);
        }
        multiply_add(rows + u * kDepthStep, b + u * b_step);
      }
      rows += kUnrolled * kDepthStep;
      b += kUnrolled * b_step;
    }
    for (; l < depth; ++l) {
      multiply_add(rows, b);
      rows += kDepthStep;
      b += b_step;
    }
  };
  if (a.depth_step == 1) {
    add_up(std::true_type());
  } else {
    add_up(std::false_type());
  }
  StoreTile<T, kRows, kPackets>(sums, c);
}

template <typename T>
const T* At(const ConstMatrix<T>& x, int64_t i, int64_t j) {
  return x.transposed ? x.data + j * x.stride + i : x.data + i * x.stride + j;
}

// Loads the first `depth` elements of `cols` columns, transposed: one packet
// for each row. The first column begins at x, and columns are `stride` apart.
// `depth` and `cols` are at most the size of a packet. `depth` equals this size
// if `kWholeDepth`, and `cols` equals this size if `kWholeCols`. Elements after
// the last column are unspecified.
template <bool kWholeDepth, bool kWholeCols, typename T>
inline __attribute__((always_inline)) packet::Square<T> LoadSquare(
    const T* x, int64_t stride, int64_t depth, int64_t cols) {
  packet::Square<T> square;
#pragma GCC unroll 16
  for (int64_t i = 0; i < kPacketSize<T>; ++i) {
    square.packet[i] =
        kWholeDepth ? packet::ploadu<Packet<T>>(x) : LoadPart(x, depth);
    if (kWholeCols || i + 1 < cols) x += stride;
  }
  packet::Transpose(square);
  return square;
}

// Loads a square as LoadSquare() does, and stores its packets at `panel`.
template <bool kWholeDepth, bool kWholeCols, typename T>
void PackSquare(const T* x, int64_t stride, int64_t depth, int64_t cols,
                T* panel) {
  const packet::Square<T> square =
      LoadSquare<kWholeDepth, kWholeCols>(x, stride, depth, cols);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kPacketSize<T>; ++i) {
    if (!kWholeDepth && i == depth) return;
    packet::pstoreu(panel + i * kGemmPanel<T>, square.packet[i]);
  }
}

// Packs rows first .. first + depth - 1 of b as one panel. Its first column is
// column `col` of b.
template <typename T>
void PackPanel(const ConstMatrix<T>& b, int64_t first, int64_t depth,
               int64_t col, T* panel) {
  constexpr int64_t kSize = kPacketSize<T>;
  const int64_t cols = std::min(kGemmPanel<T>, b.cols - col);
  for (int64_t j = 0; j < cols; j += kSize) {
    const int64_t count = std::min(kSize, cols - j);
    if (!b.transposed) {
      for (int64_t l = 0; l < depth; ++l) {
        packet::pstoreu(panel + l * kGemmPanel<T> + j,
                        LoadPart(At(b, first + l, col + j), count));
      }
      continue;
    }
    for (int64_t l = 0; l < depth; l += kSize) {
      const int64_t rows = std::min(kSize, depth - l);
      T* const out = panel + l * kGemmPanel<T> + j;
      const T* const x = At(b, first + l, col + j);
      if (rows < kSize) {
        PackSquare<false, false>(x, b.stride, rows, count, out);
      } else if (count < kSize) {
        PackSquare<true, false>(x, b.stride, rows, count, out);
      } else {
        PackSquare<true, true>(x, b.stride, rows, count, out);
      }
    }
  }
}

template <typename T>
struct Panel {
  const T* data;
  int64_t step;  // the distance between rows
};

template <typename T, int kRows>
void RunRows(const GemmLeftRows<T>& a, const Panel<T>& b, int64_t depth,
             const GemmResultTile<T>& c) {
  const int64_t packets = (c.cols + kPacketSize<T> - 1) / kPacketSize<T>;
  if (packets == 1) {
    RunGemmTile<T, kRows, 1>(a, b.data, b.step, depth, c);
  } else if (packets == 2) {
    RunGemmTile<T, kRows, 2>(a, b.data, b.step, depth, c);
  } else {
    RunGemmTile<T, kRows, 3>(a, b.data, b.step, depth, c);
  }
}

// Computes one tile. `rows` is in 1 .. kGemmRows.
template <typename T>
void RunTile(GemmLeftRows<T> a, const Panel<T>& b, int64_t depth, int64_t rows,
             GemmResultTile<T> c) {
  if (rows == kGemmRows) return RunRows<T, kGemmRows>(a, b, depth, c);
  const auto advance = [&](int64_t done) {
    a.data += done * a.row_step;
    c.data += done * c.stride;
    if (c.addend.data != nullptr) c.addend.data += done * c.addend.stride;
  };
  if (kGemmRows > 4 && (rows & 4) != 0) {
    RunRows<T, 4>(a, b, depth, c);
    advance(4);
  }
  if ((rows & 2) != 0) {
    RunRows<T, 2>(a, b, depth, c);
    advance(2);
  }
  if ((rows & 1) != 0) RunRows<T, 1>(a, b, depth, c);
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_GEMM_KERNEL_H_
