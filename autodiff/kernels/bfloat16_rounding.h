// Rounds operands of matrix products to bfloat16, one packet at a time.
//
// Bit-identical to the scalar functions in bfloat16.h.
#ifndef AUTODIFF_KERNELS_BFLOAT16_ROUNDING_H_
#define AUTODIFF_KERNELS_BFLOAT16_ROUNDING_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/packets.h"

namespace regard {

// One word for each number of a packet.
typedef uint32_t PacketWords
    __attribute__((vector_size(sizeof(Packet<float>))));

// Rounds to bfloat16. The result is in the high halves of the words. The low
// halves are arbitrary.
inline PacketWords RoundedWords(const Packet<float>& x) {
#ifdef __AVX512DQ__
  // Categories of _mm512_fpclass_ps_mask(). kDenormal includes zeros, because
  // some floating-point modes classify denormal numbers as zeros.
  constexpr int kDenormal = 0x26;
  constexpr int kNan = 0x81;
  const auto set = [](uint32_t word) {
    return _mm512_set1_epi32(static_cast<int>(word));
  };
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), set(1));
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, set(0x7FFF)), odd);
  rounded = _mm512_mask_and_epi32(rounded, _mm512_fpclass_ps_mask(x, kDenormal),
                                  bits, set(0x80000000));
  return std::bit_cast<PacketWords>(_mm512_mask_mov_epi32(
      rounded, _mm512_fpclass_ps_mask(x, kNan), set(0x7FC00000)));
#else
  using Signed = PacketIntegers<float>;
  const auto bits = std::bit_cast<PacketWords>(x);
  const auto magnitude = std::bit_cast<Signed>(bits & 0x7FFFFFFF);
  PacketWords rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  rounded = magnitude < 0x00800000 ? bits & 0x80000000 : rounded;
  return magnitude > 0x7F800000 ? PacketWords{} + 0x7FC00000 : rounded;
#endif
}

// Returns the high halves of the words of a, followed by the high halves of b.
// For 2n rounded numbers, these are n pairs.
template <size_t... kIndex>
PacketWords HighHalves(const PacketWords& a, const PacketWords& b,
                       std::index_sequence<kIndex...>) {
  typedef uint16_t Halves __attribute__((vector_size(sizeof(PacketWords))));
  return std::bit_cast<PacketWords>(__builtin_shufflevector(
      std::bit_cast<Halves>(a), std::bit_cast<Halves>(b),
      static_cast<int>(2 * kIndex + 1)...));
}

// Loads `count` numbers, at most one packet. The remaining elements are zero.
inline Packet<float> LoadUpTo(const float* x, int64_t count) {
  return count == kPacketSize<float> ? packet::ploadu<Packet<float>>(x)
                                     : LoadPart(x, count);
}

// Rounds packets by integer arithmetic. The template parameter `Rounding` of
// the functions below is a struct like this one.
struct IntegerRounding {
  // Returns the pairs of consecutive numbers, first in `low` and then in
  // `high`.
  static PacketWords Along(const Packet<float>& low,
                           const Packet<float>& high) {
    return HighHalves(RoundedWords(low), RoundedWords(high),
                      std::make_index_sequence<2 * kPacketSize<float>>());
  }

  // Returns the pairs of even[j] and odd[j].
  static PacketWords Across(const Packet<float>& even,
                            const Packet<float>& odd) {
    return RoundedWords(even) >> 16 | (RoundedWords(odd) & 0xFFFF0000);
  }

  // Returns the bits of rounded floats.
  static PacketWords Floats(const Packet<float>& x) {
    return RoundedWords(x) & 0xFFFF0000;
  }
};

// Returns the pairs of the first `count` numbers of x, at most two packets,
// followed by zeros.
template <typename Rounding>
PacketWords PairsAlong(const float* x, int64_t count) {
  constexpr int64_t kSize = kPacketSize<float>;
  return Rounding::Along(
      LoadUpTo(x, std::min(kSize, count)),
      LoadUpTo(x + kSize, std::max<int64_t>(0, count - kSize)));
}

// Returns the pairs of even[j] and odd[j] for the first `count` columns,
// followed by zeros. A null `odd` stands for zeros.
template <typename Rounding>
PacketWords PairsAcross(const float* even, const float* odd, int64_t count) {
  return Rounding::Across(
      LoadUpTo(even, count),
      odd == nullptr ? packet::pset1<Packet<float>>(0) : LoadUpTo(odd, count));
}

inline void StoreWords(uint32_t* to, const PacketWords& words) {
  __builtin_memcpy(to, &words, sizeof(words));
}

// Transposes a square of words and stores its first `rows` rows.
inline void StoreTransposed(packet::Square<float>& square, int64_t rows,
                            uint32_t* to, int64_t to_stride) {
  packet::Transpose(square);
#pragma GCC unroll 16
  for (int64_t i = 0; i < kPacketSize<float>; ++i) {
    if (i == rows) return;
    StoreWords(to + i * to_stride,
               std::bit_cast<PacketWords>(square.packet[i]));
  }
}

// Rounds `depth` elements of each row of a matrix to pairs, and stores the
// pairs transposed. Element (i, l) of the matrix is data[i * stride + l]. For
// even l, elements l and l + 1 of row i become word [l / 2, i] of `to`.
template <typename Rounding>
void PairsTransposed(const float* data, int64_t stride, int64_t rows,
                     int64_t depth, uint32_t* to, int64_t to_stride) {
  constexpr int64_t kSize = kPacketSize<float>;
  for (int64_t l = 0; l < depth; l += 2 * kSize) {
    const int64_t count = std::min(2 * kSize, depth - l);
    for (int64_t i = 0; i < rows; i += kSize) {
      packet::Square<float> square;
#pragma GCC unroll 16
      for (int64_t u = 0; u < kSize; ++u) {
        square.packet[u] = std::bit_cast<Packet<float>>(
            i + u < rows
                ? PairsAlong<Rounding>(data + (i + u) * stride + l, count)
                : PacketWords{});
      }
      StoreTransposed(square, (count + 1) / 2, to + l / 2 * to_stride + i,
                      to_stride);
    }
  }
}

// Implements Bfloat16Backend::round_panel.
template <typename Rounding>
void RoundPanel(const ConstMatrix<float>& b, int64_t first, int64_t depth,
                int64_t col, uint32_t* pairs) {
  constexpr int64_t kSize = kPacketSize<float>;
  const int64_t cols = std::min(kPairPanel, b.cols - col);
  // Fills whole packets past the last column with zeros.
  for (int64_t j = (cols + kSize - 1) / kSize * kSize; j < kPairPanel;
       j += kSize) {
    for (int64_t k = 0; k < (depth + 1) / 2; ++k) {
      StoreWords(pairs + k * kPairPanel + j, PacketWords{});
    }
  }
  if (b.transposed) {
    return PairsTransposed<Rounding>(b.data + col * b.stride + first, b.stride,
                                     cols, depth, pairs, kPairPanel);
  }
  const float* even = b.data + first * b.stride + col;
  int64_t l = 0;
  for (; cols == kPairPanel && l + 2 <= depth; l += 2, pairs += kPairPanel) {
    const float* const odd = even + b.stride;
#pragma GCC unroll 2
    for (int64_t j = 0; j < kPairPanel; j += kSize) {
      StoreWords(pairs + j, PairsAcross<Rounding>(even + j, odd + j, kSize));
    }
    even = odd + b.stride;
  }
  for (; l < depth; l += 2, even += 2 * b.stride, pairs += kPairPanel) {
    for (int64_t j = 0; j < cols; j += kSize) {
      StoreWords(pairs + j,
                 PairsAcross<Rounding>(
                     even + j, l + 1 < depth ? even + b.stride + j : nullptr,
                     std::min(kSize, cols - j)));
    }
  }
}

// Implements Bfloat16Backend::round_rows. Stores rounded numbers as floats.
template <typename Rounding>
void RoundRowsToFloats(const ConstMatrix<float>& a, int64_t row, int64_t rows,
                       int64_t first, int64_t depth, uint32_t* rounded) {
  constexpr int64_t kSize = kPacketSize<float>;
  for (int64_t i = 0; !a.transposed && i < rows; ++i) {
    const float* const from = a.data + (row + i) * a.stride + first;
    uint32_t* const to = rounded + i * kFloatRowWords;
    for (int64_t l = 0; l < depth; l += kSize) {
      StoreWords(to + l, Rounding::Floats(
                             LoadUpTo(from + l, std::min(kSize, depth - l))));
    }
  }
  for (int64_t i = 0; a.transposed && i < rows; i += kSize) {
    const int64_t count = std::min(kSize, rows - i);
    for (int64_t l = 0; l < depth; l += kSize) {
      const float* const from = a.data + (first + l) * a.stride + row + i;
      packet::Square<float> square;
#pragma GCC unroll 16
      for (int64_t u = 0; u < kSize; ++u) {
        square.packet[u] = std::bit_cast<Packet<float>>(
            l + u < depth
                ? Rounding::Floats(LoadUpTo(from + u * a.stride, count))
                : PacketWords{});
      }
      StoreTransposed(square, count, rounded + i * kFloatRowWords + l,
                      kFloatRowWords);
    }
  }
}

// Implements Bfloat16Backend::round_rows. Stores pairs.
template <typename Rounding>
void RoundRowsToPairs(const ConstMatrix<float>& a, int64_t row, int64_t rows,
                      int64_t first, int64_t depth, uint32_t* rounded) {
  constexpr int64_t kSize = kPacketSize<float>;
  for (int64_t i = 0; !a.transposed && i < rows; ++i) {
    const float* const from = a.data + (row + i) * a.stride + first;
    uint32_t* const to = rounded + i * kPairRowWords;
    for (int64_t l = 0; l < depth; l += 2 * kSize) {
      StoreWords(to + l / 2, PairsAlong<Rounding>(
                                 from + l, std::min(2 * kSize, depth - l)));
    }
  }
  for (int64_t i = 0; a.transposed && i < rows; i += kSize) {
    const int64_t count = std::min(kSize, rows - i);
    for (int64_t l = 0; l < depth; l += 2 * kSize) {
      const float* const from = a.data + (first + l) * a.stride + row + i;
      packet::Square<float> square;
#pragma GCC unroll 16
      for (int64_t u = 0; u < kSize; ++u) {
        const float* const even = from + 2 * u * a.stride;
        const int64_t left = depth - l - 2 * u;
        square.packet[u] = std::bit_cast<Packet<float>>(
            left > 0 ? PairsAcross<Rounding>(
                           even, left > 1 ? even + a.stride : nullptr, count)
                     : PacketWords{});
      }
      StoreTransposed(square, count, rounded + i * kPairRowWords + l / 2,
                      kPairRowWords);
    }
  }
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_ROUNDING_H_
