// Rounding to bfloat16, and the layout of rounded right operands.
#ifndef AUTODIFF_KERNELS_BFLOAT16_H_
#define AUTODIFF_KERNELS_BFLOAT16_H_

#include <bit>
#include <cstdint>

namespace regard {

// The number of columns of a panel. A rounded right operand [depth, cols] is
// stored as panels. A panel has one row for every two inner indices, 2k and 2k
// + 1. Word j of this row is a pair: element [2k, j] in the low half, and
// element [2k + 1, j] in the high half. Columns after the last one are zero. If
// `depth` is odd, the second half of each pair in the last row is also zero.
//
// Tile instructions (AMX) read half a row of a panel as one row of a tile.
inline constexpr int64_t kPairPanel = 32;

// The inner dimension of a product is cut into pieces of this length
// (product_precision.h).
inline constexpr int64_t kBfloat16Piece = 32;

// Returns the number of words of a panel.
inline int64_t PairPanelSize(int64_t depth) {
  return (depth + 1) / 2 * kPairPanel;
}

// Returns x rounded to bfloat16, as 16 bits. See ProductPrecision.
inline uint32_t RoundToBfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return 0x7FC0;
  if (magnitude < 0x00800000) return (bits >> 16) & 0x8000;
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

// Rounds two numbers to a pair.
inline uint32_t RoundToPair(float even, float odd) {
  return RoundToBfloat16(even) | RoundToBfloat16(odd) << 16;
}

// Return the first and the second number of a pair, as floats.
inline float EvenOfPair(uint32_t word) {
  return std::bit_cast<float>(word << 16);
}
inline float OddOfPair(uint32_t word) {
  return std::bit_cast<float>(word & 0xFFFF0000);
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_H_
