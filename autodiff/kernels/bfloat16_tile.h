// Products with ProductPrecision::kBfloat16 by fused multiply-adds. The result
// is computed in tiles, whose sums stay in registers.
//
// Requires an instruction set with fused multiply-add.
#ifndef AUTODIFF_KERNELS_BFLOAT16_TILE_H_
#define AUTODIFF_KERNELS_BFLOAT16_TILE_H_

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

#ifdef __FMA__
// Registers of 8 numbers.
struct Avx2 {
  using Floats = __m256;
  static constexpr int64_t kSize = 8;

  static Floats Zero() { return _mm256_setzero_ps(); }
  static Floats Load(const float* x) { return _mm256_loadu_ps(x); }
  static void Store(float* x, Floats y) { _mm256_storeu_ps(x, y); }
  static Floats Add(Floats x, Floats y) { return _mm256_add_ps(x, y); }
  static Floats MultiplyAdd(Floats x, Floats y, Floats sum) {
    return _mm256_fmadd_ps(x, y, sum);
  }
  // Returns a register in which all elements are the same number.
  static Floats Repeat(const uint32_t* word) {
    return _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(*word)));
  }
  // Return the first or the second numbers of pairs.
  static Floats Even(const uint32_t* pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(Words(pairs), 16));
  }
  static Floats Odd(const uint32_t* pairs) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(Words(pairs), _mm256_set1_epi32(-0x10000)));
  }

 private:
  static __m256i Words(const uint32_t* words) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  }
};
#endif

#ifdef __AVX512F__
// Registers of 16 numbers.
struct Avx512 {
  using Floats = __m512;
  static constexpr int64_t kSize = 16;

  static Floats Zero() { return _mm512_setzero_ps(); }
  static Floats Load(const float* x) { return _mm512_loadu_ps(x); }
  static void Store(float* x, Floats y) { _mm512_storeu_ps(x, y); }
  static Floats Add(Floats x, Floats y) { return _mm512_add_ps(x, y); }
  static Floats MultiplyAdd(Floats x, Floats y, Floats sum) {
    return _mm512_fmadd_ps(x, y, sum);
  }
  static Floats Repeat(const uint32_t* word) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(*word)));
  }
  static Floats Even(const uint32_t* pairs) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_loadu_si512(pairs), 16));
  }
  static Floats Odd(const uint32_t* pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(pairs),
                                                _mm512_set1_epi32(-0x10000)));
  }
  static Floats RepeatEven(const uint32_t* pair) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_set1_epi32(static_cast<int>(*pair)), 16));
  }
  static Floats RepeatOdd(const uint32_t* pair) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_set1_epi32(static_cast<int>(*pair)),
                         _mm512_set1_epi32(-0x10000)));
  }
};
#endif

// The layouts of a rounded left operand. Even() returns the first number of
// pair k of a row, repeated in all elements of a register. Odd() does this for
// the second number.
template <typename V>
struct FloatRowLayout {
  static constexpr int64_t kRowWords = kFloatRowWords;
  static constexpr int64_t kWordsOfPair = 2;
  static auto Even(const uint32_t* row, int64_t k) {
    return V::Repeat(row + 2 * k);
  }
  static auto Odd(const uint32_t* row, int64_t k) {
    return V::Repeat(row + 2 * k + 1);
  }
};
template <typename V>
struct PairRowLayout {
  static constexpr int64_t kRowWords = kPairRowWords;
  static constexpr int64_t kWordsOfPair = 1;
  static auto Even(const uint32_t* row, int64_t k) {
    return V::RepeatEven(row + k);
  }
  static auto Odd(const uint32_t* row, int64_t k) {
    return V::RepeatOdd(row + k);
  }
};

// Multiplies kRows rows with the first kPackets packets of a panel. If
// `kPrefetch` is true, also prefetches the result of the next kRows rows. Their
// first piece would otherwise wait for memory.
template <typename V, typename Rows, int kRows, int kPackets, bool kPrefetch>
void RunBfloat16Tile(const Bfloat16BlockProduct& block) {
  using Floats = typename V::Floats;
#pragma GCC unroll 8
  for (int i = kRows; kPrefetch && i < 2 * kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kPackets; ++j) {
      __builtin_prefetch(block.c + i * block.c_stride + j * V::kSize, /*rw=*/1);
    }
  }
  const float* from = block.addend;
  int64_t from_stride = block.addend_stride;
  const uint32_t* a = block.a;
  const uint32_t* b = block.b;
  constexpr int64_t kPairs = kBfloat16Piece / 2;
  for (int64_t left = (block.depth + 1) / 2; left > 0; left -= kPairs) {
    Floats even[kRows][kPackets];
    Floats odd[kRows][kPackets];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kPackets; ++j) even[i][j] = odd[i][j] = V::Zero();
    }
    const int64_t pairs = std::min(kPairs, left);
    for (int64_t k = 0; k < pairs; ++k) {
      Floats of_b[kPackets];
#pragma GCC unroll 2
      for (int j = 0; j < kPackets; ++j) of_b[j] = V::Even(b + j * V::kSize);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Floats factor = Rows::Even(a + i * Rows::kRowWords, k);
#pragma GCC unroll 2
        for (int j = 0; j < kPackets; ++j) {
          even[i][j] = V::MultiplyAdd(factor, of_b[j], even[i][j]);
        }
      }
      // Reads the words again, because the registers are full. Without the
      // barrier, GCC keeps the words and moves sums to memory.
      asm volatile("" ::: "memory");
#pragma GCC unroll 2
      for (int j = 0; j < kPackets; ++j) of_b[j] = V::Odd(b + j * V::kSize);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Floats factor = Rows::Odd(a + i * Rows::kRowWords, k);
#pragma GCC unroll 2
        for (int j = 0; j < kPackets; ++j) {
          odd[i][j] = V::MultiplyAdd(factor, of_b[j], odd[i][j]);
        }
      }
      asm volatile("" ::: "memory");
      b += kPairPanel;
    }
    a += pairs * Rows::kWordsOfPair;
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kPackets; ++j) {
        V::Store(block.c + i * block.c_stride + j * V::kSize,
                 V::Add(V::Load(from + i * from_stride + j * V::kSize),
                        V::Add(even[i][j], odd[i][j])));
      }
    }
    from = block.c;
    from_stride = block.c_stride;
  }
}

// Multiplies block.rows <= kRows rows with kPackets packets.
template <typename V, typename Rows, int kRows, int kPackets,
          bool kPrefetch = true>
void RunBfloat16Rows(const Bfloat16BlockProduct& block) {
  if constexpr (kRows > 0) {
    if (block.rows == kRows) {
      return RunBfloat16Tile<V, Rows, kRows, kPackets, kPrefetch>(block);
    }
    RunBfloat16Rows<V, Rows, kRows - 1, kPackets, false>(block);
  }
}

// Multiplies one or two whole packets of columns with up to kRows rows.
template <typename V, typename Rows, int kRows>
void RunBfloat16Columns(const Bfloat16BlockProduct& block) {
  if (block.cols == V::kSize) {
    RunBfloat16Rows<V, Rows, kRows, 1>(block);
  } else {
    RunBfloat16Rows<V, Rows, kRows, 2>(block);
  }
}

// Implements Bfloat16Backend::multiply. Tiles have kRows rows.
template <typename V, typename Rows, int kRows>
void MultiplyByTiles(const Bfloat16BlockProduct& block) {
  constexpr int64_t kCols = 2 * V::kSize;
  for (int64_t j = 0; j < block.cols; j += kCols) {
    const int64_t cols = std::min(kCols, block.cols - j);
    const int64_t whole = (cols + V::kSize - 1) / V::kSize * V::kSize;
    for (int64_t i = 0; i < block.rows; i += kRows) {
      Bfloat16BlockProduct tile = block;
      tile.a += i * Rows::kRowWords;
      tile.rows = std::min<int64_t>(kRows, block.rows - i);
      tile.b += j;
      tile.cols = whole;
      tile.c += i * block.c_stride + j;
      tile.addend += i * block.addend_stride + j;
      if (cols == whole) {
        RunBfloat16Columns<V, Rows, kRows>(tile);
        continue;
      }
      // The last packet has fewer columns, so it is computed in a padded copy.
      alignas(64) float copy[kRows * kCols] = {};
      float* const c = tile.c;
      for (int64_t r = 0; r < tile.rows; ++r) {
        std::copy_n(tile.addend + r * tile.addend_stride, cols,
                    copy + r * kCols);
      }
      tile.c = copy;
      tile.addend = copy;
      tile.c_stride = kCols;
      tile.addend_stride = kCols;
      RunBfloat16Columns<V, Rows, kRows>(tile);
      for (int64_t r = 0; r < tile.rows; ++r) {
        std::copy_n(copy + r * kCols, cols, c + r * block.c_stride);
      }
    }
  }
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_TILE_H_
