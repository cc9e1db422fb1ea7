// Tests of Gemm() with ProductPrecision::kBfloat16.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/matrix.h"
#include "autodiff/kernels/product_precision.h"
#include "autodiff/random.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr ProductPrecision kBfloat16 = ProductPrecision::kBfloat16;

std::vector<float> Normal(int64_t n, uint64_t seed) {
  const RandomStream stream(seed, "gemm_bfloat16_test");
  std::vector<float> out(n);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(stream.NormalAt(i));
  }
  return out;
}

// Assigns a b to c.
void Multiply(ConstMatrix<float> a, ConstMatrix<float> b,
              std::vector<float>& c) {
  Gemm<float>(a, b, {c.data(), a.rows, b.cols}, GemmMode::kAssign, 1,
              kBfloat16);
}

TEST(GemmBfloat16Test, MultipliesByHand) {
  // 1 + 2^-8 is rounded to 1, and 1 + 3 * 2^-8 to 1 + 4 * 2^-8.
  const std::vector<float> a = {1 + 0x1p-8F, 1 + 3 * 0x1p-8F};  // [1, 2]
  const std::vector<float> b = {1, 2, 10, 20};                  // [2, 2]
  std::vector<float> c = {77, 77};
  Multiply({a.data(), 1, 2}, {b.data(), 2, 2}, c);
  EXPECT_EQ(c, (std::vector<float>{11 + 0x1.4p-3F, 22 + 0x1.4p-2F}));
  Gemm<float>({a.data(), 1, 2}, {b.data(), 2, 2}, {c.data(), 1, 2},
              GemmMode::kAdd, 1, kBfloat16);
  EXPECT_EQ(c, (std::vector<float>{22 + 0x1.4p-2F, 44 + 0x1.4p-1F}));
  const std::vector<float> bias = {100, 200};
  GemmPlus<float>({a.data(), 1, 2}, {b.data(), 2, 2},
                  ConstMatrix<float>::Repeated(bias.data(), 1, 2),
                  {c.data(), 1, 2}, kBfloat16);
  EXPECT_EQ(c, (std::vector<float>{111 + 0x1.4p-3F, 222 + 0x1.4p-2F}));
}

// Rounding an operand has a relative error of up to 2^-8.
TEST(GemmBfloat16Test, IsCloseToTheFullProduct) {
  for (const int64_t m : {1, 5, 40}) {
    for (const int64_t k : {1, 31, 300}) {
      for (const int64_t n : {1, 33, 100}) {
        const std::vector<float> a = Normal(m * k, 1);
        const std::vector<float> b = Normal(k * n, 2);
        std::vector<float> full(m * n), rounded(m * n);
        Gemm<float>({a.data(), m, k}, {b.data(), k, n}, {full.data(), m, n});
        Multiply({a.data(), m, k}, {b.data(), k, n}, rounded);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            float norm = 0;
            for (int64_t l = 0; l < k; ++l) {
              norm += std::abs(a[i * k + l] * b[l * n + j]);
            }
            ASSERT_NEAR(rounded[i * n + j], full[i * n + j], norm * 0x1.1p-7F);
          }
        }
      }
    }
  }
}

TEST(GemmBfloat16Test, AnEmptyInnerExtentKeepsTheBitsOfTheAddend) {
  const std::vector<float> addend = {-0.0F, 0x1p-130F};
  std::vector<float> c = {7, 7};
  GemmPlus<float>({nullptr, 1, 0}, {nullptr, 0, 2}, {addend.data(), 1, 2},
                  {c.data(), 1, 2}, kBfloat16);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(c[i]),
              std::bit_cast<uint32_t>(addend[i]));
  }
  Multiply({nullptr, 1, 0}, {nullptr, 0, 2}, c);
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

TEST(GemmBfloat16Test, DoubleIgnoresThePrecision) {
  const double a = 1 + 0x1p-30, b = 3;
  double c = 0;
  Gemm<double>({&a, 1, 1}, {&b, 1, 1}, {&c, 1, 1}, GemmMode::kAssign, 2,
               kBfloat16);
  EXPECT_EQ(c, 6 + 6 * 0x1p-30);
}

TEST(GemmBfloat16Test, StoresPairsInPanels) {
  const std::vector<float> b = {1, 2, 3, 4, 5, 6};  // [3, 2]
  std::vector<uint32_t> pairs(RoundedPairsSize(3, 2), 77);
  ASSERT_EQ(pairs.size(), 64U);
  const ConstMatrix<float> rounded =
      RoundedPairs(ConstMatrix<float>(b.data(), 3, 2), pairs.data());
  EXPECT_EQ(rounded.pairs, pairs.data());
  std::vector<uint32_t> expected(64);
  expected[0] = 0x40403F80;   // 3 and 1
  expected[1] = 0x40804000;   // 4 and 2
  expected[32] = 0x000040A0;  // 5
  expected[33] = 0x000040C0;  // 6
  EXPECT_EQ(pairs, expected);
  EXPECT_TRUE(PairsMatch(rounded));
  pairs[33] ^= 1;
  EXPECT_FALSE(PairsMatch(rounded));
}

TEST(GemmBfloat16Test, PairsAndTranspositionsGiveTheSameBits) {
  for (const int64_t m : {1, 7, 130}) {
    for (const int64_t k : {1, 33, 300}) {
      for (const int64_t n : {1, 47, 301}) {
        const std::vector<float> a = Normal(m * k, 3);
        const std::vector<float> b = Normal(k * n, 4);
        std::vector<float> a_transposed(k * m), b_transposed(n * k);
        for (int64_t l = 0; l < k; ++l) {
          for (int64_t i = 0; i < m; ++i) {
            a_transposed[l * m + i] = a[i * k + l];
          }
          for (int64_t j = 0; j < n; ++j) {
            b_transposed[j * k + l] = b[l * n + j];
          }
        }
        const ConstMatrix<float> left[] = {
            {a.data(), m, k}, {a_transposed.data(), m, k, m, true}};
        const ConstMatrix<float> right[] = {
            {b.data(), k, n}, {b_transposed.data(), k, n, k, true}};
        std::vector<float> expected(m * n), got(m * n);
        Multiply(left[0], right[0], expected);
        for (const ConstMatrix<float>& x : left) {
          for (const ConstMatrix<float>& y : right) {
            Multiply(x, y, got);
            ASSERT_EQ(got, expected) << m << "x" << k << "x" << n;
            std::vector<uint32_t> pairs(RoundedPairsSize(k, n));
            ConstMatrix<float> rounded = RoundedPairs(y, pairs.data());
            EXPECT_TRUE(PairsMatch(rounded));
            rounded.data = nullptr;  // not read
            Multiply(x, rounded, got);
            ASSERT_EQ(got, expected) << m << "x" << k << "x" << n;
          }
        }
      }
    }
  }
}

TEST(GemmBfloat16Test, ARowsBitsDoNotDependOnTheRowsAroundIt) {
  const int64_t m = 67, k = 300, n = 70;
  const std::vector<float> a = Normal(m * k, 5);
  const std::vector<float> b = Normal(k * n, 6);
  std::vector<float> whole(m * n);
  Multiply({a.data(), m, k}, {b.data(), k, n}, whole);
  for (const int64_t rows : {1, 2, 3, 4, 5, 16, 31}) {
    std::vector<float> part(rows * n);
    for (int64_t begin = 0; begin + rows <= m; begin += rows) {
      Multiply({a.data() + begin * k, rows, k}, {b.data(), k, n}, part);
      for (int64_t i = 0; i < rows * n; ++i) {
        ASSERT_EQ(part[i], whole[begin * n + i]) << rows << " rows";
      }
    }
  }
}

TEST(GemmBfloat16Test, PiecesOfTheDepthAddUpToTheBitsOfOneProduct) {
  const int64_t m = 9, n = 50;
  for (const int64_t k : {32, 100, 300, 1000}) {
    const std::vector<float> a = Normal(k * m, 7);
    const std::vector<float> b = Normal(k * n, 8);
    std::vector<float> whole(m * n);
    Multiply(ConstMatrix<float>(a.data(), k, m).Transposed(), {b.data(), k, n},
             whole);
    for (const int64_t piece : {kBfloat16Piece, 3 * kBfloat16Piece}) {
      std::vector<float> sum(m * n);
      for (int64_t first = 0; first < k; first += piece) {
        const int64_t depth = std::min(piece, k - first);
        Gemm<float>(
            ConstMatrix<float>(a.data() + first * m, depth, m).Transposed(),
            {b.data() + first * n, depth, n}, {sum.data(), m, n},
            first == 0 ? GemmMode::kAssign : GemmMode::kAdd, 1, kBfloat16);
      }
      EXPECT_EQ(sum, whole) << k << " in pieces of " << piece;
    }
  }
}

TEST(GemmBfloat16Test, ThreadsGiveTheSameBits) {
  const int64_t m = 33, k = 257, n = 500;
  const std::vector<float> a = Normal(m * k, 9);
  const std::vector<float> b = Normal(k * n, 10);
  const std::vector<float> bias = Normal(n, 11);
  std::vector<uint32_t> pairs(RoundedPairsSize(k, n));
  const ConstMatrix<float> plain(b.data(), k, n);
  const ConstMatrix<float> rounded = RoundedPairs(plain, pairs.data());
  const auto compute = [&] {
    std::vector<float> c(2 * m * n, 77);
    Gemm<float>({a.data(), m, k}, plain, {c.data(), m, n}, GemmMode::kAdd, 1,
                kBfloat16);
    GemmPlus<float>({a.data(), m, k}, rounded,
                    ConstMatrix<float>::Repeated(bias.data(), m, n),
                    {c.data() + m * n, m, n}, kBfloat16);
    return c;
  };
  const std::vector<float> expected = compute();
  for (int threads = 1; threads <= 8; ++threads) {
    WorkerPool pool(threads);
    const InferenceThreads scope(pool);
    ASSERT_EQ(compute(), expected) << threads << " threads";
  }
}

// The results do not depend on whether the thread flushes denormal numbers.
// Products do not change this mode.
TEST(GemmBfloat16Test, DoesNotDependOnTheModeOfTheThread) {
  const std::vector<float> a(40, 0x1p-64F), b(40 * 40, 0x1p-64F);
  std::vector<float> c(40, 77);
  Multiply({a.data(), 1, 40}, {b.data(), 40, 40}, c);
  EXPECT_EQ(c, std::vector<float>(40, 0));
  volatile float smallest = 0x1p-126F;
  smallest = smallest / 2;
  EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(smallest)), 0x00400000U);
}

TEST(GemmBfloat16Test, AWarmProductAllocatesNothing) {
  const int64_t m = 130, k = 300, n = 100;
  const std::vector<float> a = Normal(m * k, 12);
  const std::vector<float> b = Normal(k * n, 13);
  std::vector<uint32_t> pairs(RoundedPairsSize(k, n));
  std::vector<float> c(m * n);
  const ConstMatrix<float> plain(b.data(), k, n);
  const ConstMatrix<float> rounded = RoundedPairs(plain, pairs.data());
  const auto compute = [&] {
    Multiply({a.data(), m, k}, plain, c);
    Multiply({a.data(), m, k}, rounded, c);
    Multiply({a.data(), 1, k}, plain, c);
  };
  compute();
  const int64_t before = AllocationCount();
  for (int i = 0; i < 3; ++i) compute();
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST(GemmBfloat16Test, CountsFloatingPointOperations) {
  const int64_t before = GemmFlops();
  const std::vector<float> a(6), b(12);
  std::vector<float> c(8);
  Multiply({a.data(), 2, 3}, {b.data(), 3, 4}, c);
  EXPECT_EQ(GemmFlops() - before, 48);
}

TEST(GemmBfloat16Test, NamesItsImplementation) {
  const std::string name = Bfloat16Kernel();
  EXPECT_TRUE(name == "AMX" || name == "AVX-512" || name == "AVX2" ||
              name == "plain")
      << name;
}

TEST(GemmBfloat16DeathTest, AFactorIsRefused) {
  float x = 0;
  EXPECT_DEATH(Gemm<float>({&x, 1, 1}, {&x, 1, 1}, {&x, 1, 1},
                           GemmMode::kAssign, 2, kBfloat16),
               "alpha of a product in bfloat16");
}

TEST(GemmBfloat16DeathTest, PairsOfDoublesAreRefused) {
  const double x = 0;
  uint32_t pairs[kPairPanel];
  EXPECT_DEATH(RoundedPairs<double>({&x, 1, 1}, pairs),
               "pairs of a double matrix");
}

}  // namespace
}  // namespace regard
