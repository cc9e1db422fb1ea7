// Products with ProductPrecision::kBfloat16 by tile instructions (AMX).
//
// A tile instruction multiplies a whole piece of the inner dimension for 16
// rows and 16 columns. AVX-512 multiplies the remaining rows, columns and inner
// indices, with bit-identical results.
#ifndef AUTODIFF_KERNELS_BFLOAT16_AMX_H_
#define AUTODIFF_KERNELS_BFLOAT16_AMX_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"

#ifdef __AVX512F__
#include "autodiff/kernels/bfloat16_tile.h"
#endif

namespace regard {

// Null if this build does not have AVX-512, or if this process cannot use AMX
// and native rounding. Does not check that results are correct.
const Bfloat16Backend* AmxBfloat16();

#ifdef __AVX512F__

// The number of rows, and of columns, of a tile of the result.
inline constexpr int64_t kAmxTile = 16;

// Multiplies whole pieces for kRows x kCols tiles of the result. kRows and
// kCols are 1 or 2. Tiles 0 to 3 hold the result, tiles 4 and 5 hold rows of a,
// and tiles 6 and 7 hold columns of b.
//
// `Tiles` has the instructions as static functions: Load<tile>(words, stride),
// Store<tile>(numbers, stride) and MultiplyAdd<to, of_a, of_b>(). A stride is
// in words.
template <typename Tiles, int kRows, int kCols>
void RunAmxTiles(const Bfloat16BlockProduct& block) {
  // Tile 2 i + j begins at row 16 i and column 16 j.
  const auto for_each_tile = [](const auto& go) {
    go(std::integral_constant<int, 0>());
    if constexpr (kCols == 2) go(std::integral_constant<int, 1>());
    if constexpr (kRows == 2) go(std::integral_constant<int, 2>());
    if constexpr (kRows + kCols == 4) go(std::integral_constant<int, 3>());
  };
  for_each_tile([&](auto tile) {
    constexpr int64_t kRow = tile / 2 * kAmxTile;
    constexpr int64_t kCol = tile % 2 * kAmxTile;
    Tiles::template Load<tile>(block.addend + kRow * block.addend_stride + kCol,
                               block.addend_stride);
  });
  const uint32_t* a = block.a;
  const uint32_t* b = block.b;
  for (int64_t l = 0; l < block.depth; l += kBfloat16Piece) {
    Tiles::template Load<6>(b, kPairPanel);
    Tiles::template Load<4>(a, kPairRowWords);
    if constexpr (kCols == 2) {
      Tiles::template Load<7>(b + kAmxTile, kPairPanel);
    }
    if constexpr (kRows == 2) {
      Tiles::template Load<5>(a + kAmxTile * kPairRowWords, kPairRowWords);
    }
    for_each_tile([](auto tile) {
      Tiles::template MultiplyAdd<tile, 4 + tile / 2, 6 + tile % 2>();
    });
    a += kBfloat16Piece / 2;
    b += kBfloat16Piece / 2 * kPairPanel;
  }
  for_each_tile([&](auto tile) {
    constexpr int64_t kRow = tile / 2 * kAmxTile;
    constexpr int64_t kCol = tile % 2 * kAmxTile;
    Tiles::template Store<tile>(block.c + kRow * block.c_stride + kCol,
                                block.c_stride);
  });
}

// Returns the part of a block that begins at `row` and `col`.
inline Bfloat16BlockProduct PartOfBlock(Bfloat16BlockProduct block, int64_t row,
                                        int64_t rows, int64_t col,
                                        int64_t cols) {
  block.a += row * kPairRowWords;
  block.rows = rows;
  block.b += col;
  block.cols = cols;
  block.c += row * block.c_stride + col;
  block.addend += row * block.addend_stride + col;
  return block;
}

// Multiplies 16 or 32 rows with 16 or 32 columns. The depth is a multiple of
// kBfloat16Piece.
template <typename Tiles>
void RunAmxBlock(const Bfloat16BlockProduct& block) {
  const bool two_rows = block.rows > kAmxTile;
  if (block.cols > kAmxTile) {
    two_rows ? RunAmxTiles<Tiles, 2, 2>(block)
             : RunAmxTiles<Tiles, 1, 2>(block);
  } else {
    two_rows ? RunAmxTiles<Tiles, 2, 1>(block)
             : RunAmxTiles<Tiles, 1, 1>(block);
  }
}

// Implements Bfloat16Backend::multiply.
template <typename Tiles>
void MultiplyByAmx(const Bfloat16BlockProduct& block) {
  constexpr auto kMultiplyRest =
      MultiplyByTiles<Avx512, PairRowLayout<Avx512>, 6>;
  const int64_t rows = block.rows / kAmxTile * kAmxTile;
  const int64_t cols = block.cols / kAmxTile * kAmxTile;
  const int64_t depth = block.depth / kBfloat16Piece * kBfloat16Piece;
  if (rows == 0 || cols == 0 || depth == 0) return kMultiplyRest(block);
  for (int64_t i = 0; i < rows; i += 2 * kAmxTile) {
    Bfloat16BlockProduct tiles =
        PartOfBlock(block, i, std::min(2 * kAmxTile, rows - i), 0, cols);
    tiles.depth = depth;
    RunAmxBlock<Tiles>(tiles);
  }
  if (depth < block.depth) {
    Bfloat16BlockProduct rest = PartOfBlock(block, 0, rows, 0, cols);
    rest.a += depth / 2;
    rest.b += depth / 2 * kPairPanel;
    rest.depth -= depth;
    rest.addend = rest.c;
    rest.addend_stride = rest.c_stride;
    kMultiplyRest(rest);
  }
  if (cols < block.cols) {
    kMultiplyRest(PartOfBlock(block, 0, rows, cols, block.cols - cols));
  }
  if (rows < block.rows) {
    kMultiplyRest(PartOfBlock(block, rows, block.rows - rows, 0, block.cols));
  }
}

// Returns an implementation in which each thread calls Tiles::Begin() before
// and Tiles::End() after its products.
template <typename Tiles>
Bfloat16Backend AmxBackend(const char* name,
                           decltype(Bfloat16Backend::round_rows) round_rows,
                           decltype(Bfloat16Backend::round_panel) round_panel) {
  return {.name = name,
          .rows = 128,
          .row_words = kPairRowWords,
          .round_rows = round_rows,
          .round_panel = round_panel,
          .multiply = MultiplyByAmx<Tiles>,
          .begin = Tiles::Begin,
          .end = Tiles::End};
}

#endif  // __AVX512F__

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_AMX_H_
