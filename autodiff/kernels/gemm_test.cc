#include "autodiff/kernels/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "autodiff/random.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

template <typename T>
std::vector<T> Normal(int64_t n, uint64_t seed) {
  const RandomStream stream(seed, "gemm_test");
  std::vector<T> out(n);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(stream.NormalAt(i));
  return out;
}

TEST(GemmTest, MultipliesByHand) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};  // [2, 3]
  const std::vector<float> b = {1, 0, 2, 1, 0, 3};  // [3, 2]
  std::vector<float> c = {100, 100, 100, 100};
  Gemm<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2});
  EXPECT_EQ(c, (std::vector<float>{5, 11, 14, 23}));
  Gemm<float>({a.data(), 2, 3}, {b.data(), 3, 2}, {c.data(), 2, 2},
              GemmMode::kAdd, 2);
  EXPECT_EQ(c, (std::vector<float>{15, 33, 42, 69}));
}

TEST(GemmTest, EmptyInnerExtentAssignsZero) {
  std::vector<float> c = {7, 7};
  Gemm<float>({nullptr, 2, 0}, {nullptr, 0, 1}, {c.data(), 2, 1});
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

template <typename T>
void ExpectMatchesReference(int64_t m, int64_t k, int64_t n, bool ta, bool tb) {
  const std::vector<T> a = Normal<T>(m * k, 1);
  const std::vector<T> b = Normal<T>(k * n, 2);
  std::vector<T> c(m * n, T(NAN));
  Gemm<T>(ta ? ConstMatrix<T>(a.data(), k, m).Transposed()
             : ConstMatrix<T>(a.data(), m, k),
          tb ? ConstMatrix<T>(b.data(), n, k).Transposed()
             : ConstMatrix<T>(b.data(), k, n),
          {c.data(), m, n});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      double norm = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double product =
            static_cast<double>(ta ? a[l * m + i] : a[i * k + l]) *
            static_cast<double>(tb ? b[j * k + l] : b[l * n + j]);
        sum += product;
        norm += std::abs(product);
      }
      const double epsilon = sizeof(T) == 4 ? 6e-8 : 1.2e-16;
      ASSERT_NEAR(c[i * n + j], sum, 2 * epsilon * norm * 4)
          << m << "x" << k << "x" << n << " " << ta << tb;
    }
  }
}

TEST(GemmTest, MatchesTheDefinitionInEveryTransposition) {
  for (const int64_t m : {1, 2, 3, 17, 33}) {
    for (const int64_t k : {1, 5, 64, 300}) {
      for (const int64_t n : {1, 7, 16, 49}) {
        for (const bool ta : {false, true}) {
          for (const bool tb : {false, true}) {
            ExpectMatchesReference<float>(m, k, n, ta, tb);
            ExpectMatchesReference<double>(m, k, n, ta, tb);
          }
        }
      }
    }
  }
}

// The result has several blocks of columns, and the inner dimension is longer
// than kGemmDepth.
TEST(GemmTest, MatchesTheDefinitionBlockByBlock) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      ExpectMatchesReference<float>(3, 600, 1001, ta, tb);
      ExpectMatchesReference<double>(3, 600, 1001, ta, tb);
    }
  }
}

TEST(GemmTest, ReadsAndWritesThroughStrides) {
  // A [2, 2] matrix with stride 3.
  const std::vector<float> a = {1, 2, 0, 3, 4, 0};
  const std::vector<float> b = {1, 0, 0, 1};
  std::vector<float> c(8, -1);
  Gemm<float>({a.data(), 2, 2, 3}, {b.data(), 2, 2}, {c.data(), 2, 2, 4});
  EXPECT_EQ(c, (std::vector<float>{1, 2, -1, -1, 3, 4, -1, -1}));
}

TEST(GemmTest, DataAfterRowsAndColumnsHasNoEffect) {
  const int64_t k = 5, n = 19, stride = 6;
  for (const int64_t m : {1, 2, 16, 17}) {
    std::vector<float> a(m * stride, NAN), b(n * stride, NAN), c(m * n);
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t i = 0; i < m; ++i) a[i * stride + l] = 1;
      for (int64_t j = 0; j < n; ++j) b[j * stride + l] = static_cast<float>(j);
    }
    Gemm<float>({a.data(), m, k, stride},
                ConstMatrix<float>(b.data(), n, k, stride).Transposed(),
                {c.data(), m, n});
    for (int64_t i = 0; i < m * n; ++i) {
      ASSERT_EQ(c[i], static_cast<float>(k * (i % n))) << m << " rows";
    }
  }
}

// Batch-invariant decoding requires that the bits of a row do not depend on
// other rows.
TEST(GemmTest, ARowsBitsDoNotDependOnTheRowsAroundIt) {
  for (const bool tb : {false, true}) {
    // If k is 1,024, columns are read in another order.
    for (const int64_t k : {3, 32, 256, 700, 1024}) {
      for (const int64_t n : {1, 9, 16, 17, 33, 64, 96, 200}) {
        const int64_t m = 67;
        const std::vector<float> a = Normal<float>(m * k, 3);
        const std::vector<float> b = Normal<float>(k * n, 4);
        const ConstMatrix<float> right =
            tb ? ConstMatrix<float>(b.data(), n, k).Transposed()
               : ConstMatrix<float>(b.data(), k, n);
        std::vector<float> whole(m * n);
        Gemm<float>({a.data(), m, k}, right, {whole.data(), m, n});
        for (const int64_t rows : {1, 2, 3, 4, 5, 16, 31}) {
          std::vector<float> part(rows * n);
          for (int64_t begin = 0; begin + rows <= m; begin += rows) {
            Gemm<float>({a.data() + begin * k, rows, k}, right,
                        {part.data(), rows, n});
            for (int64_t i = 0; i < rows * n; ++i) {
              ASSERT_EQ(part[i], whole[begin * n + i])
                  << rows << " rows, k " << k << ", n " << n << ", b "
                  << (tb ? "transposed" : "plain");
            }
          }
        }
      }
    }
  }
}

TEST(GemmTest, PlusByHand) {
  const std::vector<float> a = {1, 2, 3, 4};  // [2, 2]
  const std::vector<float> identity = {1, 0, 0, 1};
  const std::vector<float> bias = {10, 20};
  const std::vector<float> rows = {10, 20, 30, 40};
  std::vector<float> c(4);
  GemmPlus<float>({a.data(), 2, 2}, {identity.data(), 2, 2},
                  ConstMatrix<float>::Repeated(bias.data(), 2, 2),
                  {c.data(), 2, 2});
  EXPECT_EQ(c, (std::vector<float>{11, 22, 13, 24}));
  GemmPlus<float>({a.data(), 2, 2}, {identity.data(), 2, 2},
                  {rows.data(), 2, 2}, {c.data(), 2, 2});
  EXPECT_EQ(c, (std::vector<float>{11, 22, 33, 44}));
  GemmPlus<float>({nullptr, 2, 0}, {nullptr, 0, 2},
                  ConstMatrix<float>::Repeated(bias.data(), 2, 2),
                  {c.data(), 2, 2});
  EXPECT_EQ(c, (std::vector<float>{10, 20, 10, 20}));
}

// The reference copies the addend, then adds the product to the copy.
TEST(GemmTest, PlusHasTheBitsOfAddingToACopy) {
  for (const int64_t m : {0, 1, 3, 9, 140}) {
    for (const int64_t k : {0, 1, 256, 600}) {
      for (const int64_t n : {1, 16, 49, 100, 800}) {
        const std::vector<float> a = Normal<float>(m * k, 5);
        const std::vector<float> b = Normal<float>(k * n, 6);
        const std::vector<float> bias = Normal<float>(n, 7);
        std::vector<float> added(m * n), copied(m * n);
        for (int64_t i = 0; i < m * n; ++i) copied[i] = bias[i % n];
        Gemm<float>({a.data(), m, k}, {b.data(), k, n}, {copied.data(), m, n},
                    GemmMode::kAdd);
        GemmPlus<float>({a.data(), m, k}, {b.data(), k, n},
                        ConstMatrix<float>::Repeated(bias.data(), m, n),
                        {added.data(), m, n});
        ASSERT_EQ(added, copied) << m << "x" << k << "x" << n;
      }
    }
  }
}

template <typename T>
void ExpectPackedHasTheBitsOfPlain(int64_t m, int64_t k, int64_t n, bool tb) {
  const std::vector<T> a = Normal<T>(m * k, 8);
  const std::vector<T> b = Normal<T>(k * n, 9);
  const std::vector<T> bias = Normal<T>(n, 10);
  const ConstMatrix<T> plain = tb ? ConstMatrix<T>(b.data(), n, k).Transposed()
                                  : ConstMatrix<T>(b.data(), k, n);
  std::vector<T> panels(PackedSize<T>(k, n));
  const ConstMatrix<T> packed = WithPackedPanels(plain, panels.data());
  const ConstMatrix<T> rows(a.data(), m, k);
  for (const GemmMode mode : {GemmMode::kAssign, GemmMode::kAdd}) {
    std::vector<T> expected(m * n, T(77));
    std::vector<T> got = expected;
    Gemm<T>(rows, plain, {expected.data(), m, n}, mode, T(2));
    Gemm<T>(rows, packed, {got.data(), m, n}, mode, T(2));
    ASSERT_EQ(got, expected) << m << "x" << k << "x" << n << " " << tb;
  }
  const auto repeated = ConstMatrix<T>::Repeated(bias.data(), m, n);
  std::vector<T> expected(m * n);
  std::vector<T> got = expected;
  GemmPlus<T>(rows, plain, repeated, {expected.data(), m, n});
  GemmPlus<T>(rows, packed, repeated, {got.data(), m, n});
  ASSERT_EQ(got, expected) << m << "x" << k << "x" << n << " " << tb;
}

TEST(GemmTest, APackedOperandGivesTheSameBits) {
  for (const bool tb : {false, true}) {
    for (const int64_t n : {1, 7, 47, 48, 100, 1001}) {
      for (const int64_t k : {0, 1, 33, 256, 600}) {
        for (const int64_t m : {0, 1, 9, 140}) {
          ExpectPackedHasTheBitsOfPlain<float>(m, k, n, tb);
          ExpectPackedHasTheBitsOfPlain<double>(m, k, n, tb);
        }
      }
    }
  }
}

// Products over parts of the inner dimension must add up to the bits of one
// product. Gradients rely on this: they are accumulated from a few rows at a
// time.
TEST(GemmTest, PiecesOfTheDepthAddUpToTheBitsOfOneProduct) {
  const int64_t m = 9;
  const int64_t n = 50;
  for (const int64_t k : {100, 256, 300, 768, 1000}) {
    const std::vector<float> a = Normal<float>(k * m, 11);
    const std::vector<float> b = Normal<float>(k * n, 12);
    std::vector<float> whole(m * n), sum(m * n);
    Gemm<float>(ConstMatrix<float>(a.data(), k, m).Transposed(),
                {b.data(), k, n}, {whole.data(), m, n});
    for (int64_t first = 0; first < k; first += kGemmDepth) {
      const int64_t depth = std::min(kGemmDepth, k - first);
      Gemm<float>(
          ConstMatrix<float>(a.data() + first * m, depth, m).Transposed(),
          {b.data() + first * n, depth, n}, {sum.data(), m, n},
          first == 0 ? GemmMode::kAssign : GemmMode::kAdd);
    }
    EXPECT_EQ(sum, whole) << k;
  }
}

// Expects bit-identical results for any number of threads. The product must be
// large enough to be split among threads, or have an extent of 0.
template <typename T>
void ExpectThreadsGiveTheSameBits(int64_t m, int64_t k, int64_t n, bool tb) {
  const std::vector<T> a = Normal<T>(m * k, 13);
  const std::vector<T> b = Normal<T>(k * n, 14);
  const std::vector<T> bias = Normal<T>(n, 15);
  const ConstMatrix<T> rows(a.data(), m, k);
  const ConstMatrix<T> plain = tb ? ConstMatrix<T>(b.data(), n, k).Transposed()
                                  : ConstMatrix<T>(b.data(), k, n);
  std::vector<T> panels(PackedSize<T>(k, n));
  const ConstMatrix<T> packed = WithPackedPanels(plain, panels.data());
  const auto compute = [&] {
    std::vector<T> out(4 * m * n, T(77));
    T* const c = out.data();
    Gemm<T>(rows, plain, {c, m, n});
    Gemm<T>(rows, packed, {c + m * n, m, n});
    Gemm<T>(rows, plain, {c + 2 * m * n, m, n}, GemmMode::kAdd, T(2));
    GemmPlus<T>(rows, packed, ConstMatrix<T>::Repeated(bias.data(), m, n),
                {c + 3 * m * n, m, n});
    return out;
  };
  const std::vector<T> expected = compute();
  for (int threads = 1; threads <= 8; ++threads) {
    WorkerPool pool(threads);
    const InferenceThreads scope(pool);
    ASSERT_EQ(compute(), expected) << m << "x" << k << "x" << n << " " << tb
                                   << " on " << threads << " threads";
  }
}

TEST(GemmTest, ThreadsGiveTheSameBits) {
  struct Extents {
    int64_t m, k, n;
  };
  const Extents cases[] = {{0, 5, 3},      {1, 1, 1},      {1, 601, 1001},
                           {1, 1100, 500}, {17, 257, 301}, {140, 600, 47},
                           {9, 0, 100},    {131, 97, 263}};
  for (const auto& [m, k, n] : cases) {
    for (const bool tb : {false, true}) {
      ExpectThreadsGiveTheSameBits<float>(m, k, n, tb);
      ExpectThreadsGiveTheSameBits<double>(m, k, n, tb);
    }
  }
}

TEST(GemmTest, ScopesOfThreadsNest) {
  const int64_t m = 16, k = 256, n = 512;
  const std::vector<float> a = Normal<float>(m * k, 16);
  const std::vector<float> b = Normal<float>(k * n, 17);
  std::vector<float> expected(m * n), got(m * n);
  const auto compute = [&](std::vector<float>& c) {
    Gemm<float>({a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n});
  };
  compute(expected);
  WorkerPool outer(2);
  const InferenceThreads of_outer(outer);
  {
    WorkerPool inner(3);
    const InferenceThreads of_inner(inner);
    compute(got);
    EXPECT_EQ(got, expected);
  }
  got.assign(m * n, 0);
  compute(got);
  EXPECT_EQ(got, expected);
}

TEST(GemmTest, AWarmProductOnThreadsAllocatesNothing) {
  const int64_t m = 16, k = 256, n = 512;
  const std::vector<float> a = Normal<float>(m * k, 18);
  const std::vector<float> b = Normal<float>(k * n, 19);
  std::vector<float> panels(PackedSize<float>(k, n)), c(m * n);
  const ConstMatrix<float> packed =
      WithPackedPanels(ConstMatrix<float>(b.data(), k, n), panels.data());
  WorkerPool pool(3);
  const InferenceThreads scope(pool);
  const auto compute = [&] {
    Gemm<float>({a.data(), m, k}, packed, {c.data(), m, n});
  };
  compute();
  const int64_t before = AllocationCount();
  for (int i = 0; i < 100; ++i) compute();
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST(GemmTest, CountsFloatingPointOperations) {
  const int64_t before = GemmFlops();
  const std::vector<float> a(6), b(12);
  std::vector<float> c(8);
  Gemm<float>({a.data(), 2, 3}, {b.data(), 3, 4}, {c.data(), 2, 4});
  EXPECT_EQ(GemmFlops() - before, 48);
}

TEST(GemmDeathTest, RejectsAProductInsideOfItsPoolsWork) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const int64_t m = 16, k = 256, n = 512;
  const std::vector<float> a(m * k), b(k * n);
  const auto nested = [&] {
    WorkerPool pool(2);
    const InferenceThreads scope(pool);
    // With so many calls, the thread with the scope runs at least one of them.
    pool.Run(10000, [&](int64_t) {
      std::vector<float> c(m * n);
      Gemm<float>({a.data(), m, k}, {b.data(), k, n}, {c.data(), m, n});
    });
  };
  EXPECT_DEATH(nested(), "Run\\(\\) was called inside Run\\(\\)");
}

TEST(GemmDeathTest, MismatchedShapesAreNamed) {
  float x = 0;
  EXPECT_DEATH(Gemm<float>({&x, 1, 1}, {&x, 2, 1}, {&x, 1, 1}),
               "1 vs. 2.*inner extent");
}

}  // namespace
}  // namespace regard
