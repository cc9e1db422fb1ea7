#include "autodiff/kernels/bfloat16_product.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_comparison.h"
#include "autodiff/kernels/matrix.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Bfloat16Test, RoundsByHand) {
  struct Case {
    uint32_t from, to;
  };
  const Case cases[] = {
      {0x3F800000, 0x3F80},  // 1
      {0x3F807FFF, 0x3F80},  // just below a tie
      {0x3F808000, 0x3F80},  // a tie, down to even
      {0x3F808001, 0x3F81},  // just above a tie
      {0x3F818000, 0x3F82},  // a tie, up to even
      {0xBF818000, 0xBF82}, {0x3FFFFFFF, 0x4000},
      {0x7F7F7FFF, 0x7F7F},  // the largest number that remains finite
      {0x7F7F8000, 0x7F80}, {0x7F800000, 0x7F80},
      {0xFF800000, 0xFF80}, {0x00000000, 0x0000},
      {0x80000000, 0x8000}, {0x00000001, 0x0000},  // denormal
      {0x007FFFFF, 0x0000}, {0x807FFFFF, 0x8000},
      {0x00800000, 0x0080},  // the smallest normal number
      {0x7F800001, 0x7FC0},  // NaN
      {0x7FFFFFFF, 0x7FC0}, {0xFFC12345, 0x7FC0},
  };
  for (const auto& [from, to] : cases) {
    EXPECT_EQ(RoundToBfloat16(FromBits(from)), to) << std::hex << from;
  }
  // All implementations round identically, in each position of a pair.
  for (const Bfloat16Backend* const backend : ComparableBfloat16Backends()) {
    for (const auto& [from, to] : cases) {
      const float x = FromBits(from);
      for (const bool transposed : {false, true}) {
        const std::vector<float> b(3 * 33, x);
        std::vector<uint32_t> pairs(2 * kPairPanel, 77);
        backend->round_panel({b.data(), 3, 33, transposed ? 3 : 33, transposed},
                             0, 3, 0, pairs.data());
        for (int64_t j = 0; j < kPairPanel; ++j) {
          ASSERT_EQ(pairs[j], to | to << 16) << backend->name;
          ASSERT_EQ(pairs[kPairPanel + j], to) << backend->name;
        }
      }
    }
  }
}

// Returns the dot product of a and b plus the addend, computed with one
// implementation. Multiplies a matrix whose `extent` rows all equal a by a
// matrix whose `extent` columns all equal b. All elements of the result must be
// equal.
float Dot(const Bfloat16Backend& backend, const std::vector<float>& a,
          const std::vector<float>& b, const float* addend, int64_t extent) {
  const auto depth = static_cast<int64_t>(a.size());
  std::vector<float> rows, columns;
  for (int64_t i = 0; i < extent; ++i) {
    rows.insert(rows.end(), a.begin(), a.end());
    columns.insert(columns.end(), b.begin(), b.end());
  }
  const std::vector<float> added(extent, addend == nullptr ? 0 : *addend);
  std::vector<float> c(extent * extent, 77);
  RunBfloat16Product(backend, {rows.data(), extent, depth},
                     {columns.data(), depth, extent, depth, true},
                     addend == nullptr ? nullptr : added.data(),
                     /*addend_stride=*/0, {c.data(), extent, extent}, 0,
                     extent);
  for (const float element : c) {
    EXPECT_EQ(std::bit_cast<uint32_t>(element), std::bit_cast<uint32_t>(c[0]))
        << backend.name;
  }
  return c[0];
}

// Expects that all implementations compute `expected` for the dot product of a
// and b plus the addend. If `whole` is true, also pads the operands with zeros
// to a multiple of 32, because tile instructions multiply whole pieces.
void ExpectDot(std::vector<float> a, std::vector<float> b, float expected,
               const float* addend = nullptr, bool whole = true) {
  for (int pass = 0; pass < (whole ? 2 : 1); ++pass) {
    for (const Bfloat16Backend* const backend : ComparableBfloat16Backends()) {
      for (const int64_t extent : {1, 33}) {
        const float got = Dot(*backend, a, b, addend, extent);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(got)) << backend->name << " " << got;
        } else {
          EXPECT_EQ(std::bit_cast<uint32_t>(got),
                    std::bit_cast<uint32_t>(expected))
              << backend->name << ": " << got << " instead of " << expected
              << ", extent " << extent << ", depth " << a.size();
        }
      }
    }
    a.resize((a.size() + 31) / 32 * 32);
    b.resize(a.size());
  }
}

TEST(Bfloat16ProductTest, RoundsItsOperands) {
  ExpectDot({FromBits(0x3F808001), 2}, {FromBits(0x3F808000), 3},
            FromBits(0x3F810000) + 6);
}

TEST(Bfloat16ProductTest, SumsEvenAndOddIndicesSeparately) {
  // In float, 2^24 + 1 is rounded to 2^24. A single chain would therefore
  // return 2^24.
  ExpectDot({0x1p24F, 1, 1, 1}, {1, 1, 1, 1}, 0x1p24F + 2);
}

TEST(Bfloat16ProductTest, AddsEachPieceToTheResult) {
  const float addend = 0x1p24F;
  std::vector<float> a(33);
  const std::vector<float> b(33, 1);
  a[0] = a[2] = 1;
  ExpectDot(a, b, 0x1p24F + 2, &addend);
  // Adding 1 twice, once for each piece, has no effect.
  a[2] = 0;
  a[32] = 1;
  ExpectDot(a, b, 0x1p24F, &addend);
}

TEST(Bfloat16ProductTest, TreatsDenormalNumbersAsZeros) {
  const float denormal = 0x1p-127F;
  ExpectDot({denormal, 1}, {0x1p100F, 2}, 2);
  ExpectDot({0x1p-64F, 0}, {0x1p-63F, 1}, 0);  // the product is denormal
  ExpectDot({0x1p-63F, 0}, {0x1p-63F, 1}, 0x1p-126F);
  ExpectDot({0}, {1}, 0, &denormal);
  // The sum is denormal: 2^-126 - 2^-127.
  const float addend = -0x1p-126F;
  ExpectDot({0x1.8p-63F}, {0x1p-63F}, 0, &addend);
}

// Results are rounded as if exponents had no lower limit. Then, results below
// 2^-126 become zero.
TEST(Bfloat16ProductTest, RoundsBeforeItLooksForDenormalNumbers) {
  const std::vector<float> b = {0x1p-63F, 0, 0x1p-76F, 0};
  ExpectDot({0x1p-63F, 0, -0x1.8p-75F, 0}, b, 0);
  ExpectDot({0x1p-63F, 0, -0x1p-76F, 0}, b, 0x1p-126F);
}

TEST(Bfloat16ProductTest, HasSignedZeros) {
  const float tiny = 0x1p-100F;
  const float minus_zero = -0.0F;
  ExpectDot({-tiny, -tiny}, {tiny, tiny}, minus_zero, &minus_zero, false);
  ExpectDot({-tiny, -tiny}, {tiny, tiny}, 0);
  // The padding of an odd depth makes the sum of odd indices +0.
  ExpectDot({-tiny}, {tiny}, 0, &minus_zero);
  ExpectDot({-tiny, -tiny, -tiny}, {tiny, tiny, tiny}, 0, &minus_zero);
}

TEST(Bfloat16ProductTest, HasInfinitiesAndNan) {
  ExpectDot({kInfinity, 1}, {2, 1}, kInfinity);
  ExpectDot({kInfinity, 1}, {0, 1}, kNan);
  ExpectDot({kInfinity}, {0x1p-127F}, kNan);  // infinity times zero
  ExpectDot({kInfinity, kInfinity}, {1, -1}, kNan);
  ExpectDot({kNan, 1}, {1, 1}, kNan);
  ExpectDot({FromBits(0x7F7F8000)}, {1}, kInfinity);  // rounded up
  // The product is infinite, but the result of the fused multiply-add is
  // finite.
  ExpectDot({-0x1p127F, 0, 0x1p127F}, {1, 0, 2}, 0x1p127F);
  const float addend = -kInfinity;
  ExpectDot({1}, {1}, -kInfinity, &addend);
  ExpectDot({kInfinity}, {1}, kNan, &addend);
}

// Expects that all implementations agree. If there is only one implementation,
// compares whole products with products in several parts.
void ExpectAgreement(uint64_t seed, int count, int64_t max_extent) {
  const std::vector<const Bfloat16Backend*> backends =
      ComparableBfloat16Backends();
  if (backends.size() == 1) count = (count + 7) / 8;
  RandomBfloat16Products products(seed);
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(products.CompareNext(backends, max_extent), "");
  }
}

TEST(Bfloat16ProductTest, AllImplementationsAgreeOnRandomProducts) {
  ExpectAgreement(1, 3000, 40);
  ExpectAgreement(2, 40, 300);
}

// Both the inner dimension and the columns are cut into blocks.
TEST(Bfloat16ProductTest, AllImplementationsAgreeOnLargeProducts) {
  ExpectAgreement(3, 3, 600);
}

}  // namespace
}  // namespace regard
