#include "autodiff/kernels/bfloat16_plain.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/matrix.h"

namespace regard {

namespace {

float Element(const ConstMatrix<float>& x, int64_t i, int64_t j) {
  return x.transposed ? x.data[j * x.stride + i] : x.data[i * x.stride + j];
}

// Implements Bfloat16Backend::round_rows. Stores pairs.
void RoundRows(const ConstMatrix<float>& a, int64_t row, int64_t rows,
               int64_t first, int64_t depth, uint32_t* rounded) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < depth; k += 2) {
      rounded[i * kPairRowWords + k / 2] =
          RoundToPair(Element(a, row + i, first + k),
                      k + 1 < depth ? Element(a, row + i, first + k + 1) : 0);
    }
  }
}

void RoundPanel(const ConstMatrix<float>& b, int64_t first, int64_t depth,
                int64_t col, uint32_t* pairs) {
  const int64_t cols = std::min(kPairPanel, b.cols - col);
  for (int64_t k = 0; k < depth; k += 2, pairs += kPairPanel) {
    for (int64_t j = 0; j < cols; ++j) {
      pairs[j] =
          RoundToPair(Element(b, first + k, col + j),
                      k + 1 < depth ? Element(b, first + k + 1, col + j) : 0);
    }
    std::fill(pairs + cols, pairs + kPairPanel, 0);
  }
}

// Returns x, or zero with the same sign if x is denormal. Compares bits,
// because floating-point comparisons depend on the floating-point mode.
float Flush(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return (bits & 0x7FFFFFFF) < 0x00800000
             ? std::bit_cast<float>(bits & 0x80000000)
             : x;
}

// Returns a b + sum, as in the floating-point mode in which denormal results
// are zero.
//
// That mode rounds as if exponents had no lower limit, then replaces results
// below 2^-126. std::fma() rounds results just below 2^-126 to multiples of
// 2^-149, which may give 2^-126. The sum in double is exact in this range.
float FusedMultiplyAdd(float a, float b, float sum) {
  const float result = Flush(std::fma(a, b, sum));
  if (std::abs(result) != FLT_MIN) return result;
  const double exact = static_cast<double>(a) * b + sum;
  return std::abs(exact) < 0x1p-126 - 0x1p-151 ? std::copysign(0.0F, result)
                                               : result;
}

// Like FusedMultiplyAdd(), but faster on processors without FMA. The product of
// two bfloat16 numbers has 16 significant bits, so it is exact in float unless
// it is too small or too large.
float MultiplyAdd(float a, float b, float sum) {
#ifndef __FMA__
  const float product = a * b;
  const uint32_t magnitude = std::bit_cast<uint32_t>(product) & 0x7FFFFFFF;
  const bool exact =
      (magnitude >= 0x00800000 && magnitude < 0x7F800000) || a == 0 || b == 0;
  if (exact) return Flush(product + sum);
#endif
  return FusedMultiplyAdd(a, b, sum);
}

void Multiply(const Bfloat16BlockProduct& block) {
  const int64_t pairs = (block.depth + 1) / 2;
  for (int64_t i = 0; i < block.rows; ++i) {
    const uint32_t* const a = block.a + i * kPairRowWords;
    for (int64_t j = 0; j < block.cols; ++j) {
      const uint32_t* const b = block.b + j;
      float c = Flush(block.addend[i * block.addend_stride + j]);
      for (int64_t k = 0; k < pairs;) {
        const int64_t end = std::min(k + kBfloat16Piece / 2, pairs);
        float even = 0;
        float odd = 0;
        for (; k < end; ++k) {
          const uint32_t of_b = b[k * kPairPanel];
          even = MultiplyAdd(EvenOfPair(a[k]), EvenOfPair(of_b), even);
          odd = MultiplyAdd(OddOfPair(a[k]), OddOfPair(of_b), odd);
        }
        c = Flush(c + Flush(even + odd));
      }
      block.c[i * block.c_stride + j] = c;
    }
  }
}

}  // namespace

const Bfloat16Backend kPlainBfloat16 = {.name = "plain",
                                        .rows = 128,
                                        .row_words = kPairRowWords,
                                        .round_rows = RoundRows,
                                        .round_panel = RoundPanel,
                                        .multiply = Multiply,
                                        .begin = nullptr,
                                        .end = nullptr};

}  // namespace regard
