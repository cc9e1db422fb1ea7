#include "autodiff/worker_pool.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace regard {
namespace {

TEST(WorkerPoolTest, RunsEachIndexOnceOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> done(count);
      pool.Run(count, [&](int64_t i) { ++done[i]; });
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(WorkerPoolTest, ShortRoundsDoNotMix) {
  WorkerPool pool(4);
  int64_t total = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t parts[4] = {};
    pool.Run(4, [&](int64_t i) { parts[i] = round + i; });
    total += parts[0] + parts[1] + parts[2] + parts[3];
  }
  EXPECT_EQ(total, 4 * (int64_t{20000} * 19999 / 2) + 20000 * 6);
}

// Returns half of the smallest normal number, which is denormal unless flushed.
float Denormal() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5f;
}

TEST(WorkerPoolTest, ThreadsFlushDenormalsOnlyDuringWork) {
  for (const int threads : {1, 3}) {
    WorkerPool pool(threads);
    for (const int count : {1, 64}) {
      std::vector<float> products(count, 1);
      pool.Run(count, [&](int64_t i) { products[i] = Denormal(); });
      for (const float product : products) EXPECT_EQ(product, 0);
      EXPECT_GT(Denormal(), 0);
    }
  }
}

TEST(ScopedFlushDenormalsTest, RestoresTheModeThatItFound) {
  {
    const ScopedFlushDenormals outer;
    { const ScopedFlushDenormals inner; }
    EXPECT_EQ(Denormal(), 0);
  }
  EXPECT_GT(Denormal(), 0);
}

TEST(WorkerPoolTest, RunsInsideOfAnotherPoolOrOfOneIndex) {
  WorkerPool outer(2), inner(2);
  std::atomic<int> done = 0;
  outer.Run(1, [&](int64_t) {
    outer.Run(2, [&](int64_t) { ++done; });
    inner.Run(2, [&](int64_t) { ++done; });
  });
  EXPECT_EQ(done, 4);
}

TEST(WorkerPoolDeathTest, DoesNotRunInsideOfItself) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto nested = [] {
    WorkerPool pool(2);
    pool.Run(2, [&](int64_t) { pool.Run(2, [](int64_t) {}); });
  };
  EXPECT_DEATH(nested(), "Run\\(\\) was called inside Run\\(\\)");
}

}  // namespace
}  // namespace regard
