#include "optimization/gradient_reducer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/random.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/ranks/agreement.h"
#include "optimization/ranks/ranks.h"
#include "optimization/slab_chunks.h"
#include "optimization/testing/thread_ranks.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// A store of several chunks. It has a table with odd extents, vectors before
// and after the table, and a vector that is not trained.
class Store {
 public:
  static constexpr int kRows = 50;
  static constexpr int kCols = 201;

  explicit Store(bool sparse) {
    store_.Root().Add("before", {301}, Normal(1));
    store_.Root().Add("table", {kRows, kCols}, Normal(1),
                      {.sparse_gradient = sparse});
    store_.Root().Add("frozen", {33}, Normal(1), {.trainable = false});
    store_.Root().Add("after", {7}, Normal(1));
    store_.Finalize(5);
  }

  // Writes a random gradient of one shard, in the state in which a backward
  // pass leaves it. Each shard writes different rows of the table, and some
  // shards write no rows. Some shards do not write `after`.
  void Fill(uint64_t batch, int shard, GradientSlab<float>& slab) const {
    slab.ClearTouchedRows(store_);
    const RandomStream stream(100 * batch + static_cast<uint64_t>(shard),
                              "gradient");
    const absl::Span<float> table = Segment(slab, 1);
    uint8_t* const touched = slab.touched_rows(1);
    if (touched == nullptr) std::fill(table.begin(), table.end(), 0.0f);
    for (int k = 0; k < 5 * (shard % 3); ++k) {
      const auto row =
          static_cast<int>(stream.UniformAt(static_cast<uint64_t>(k)) * kRows);
      if (touched != nullptr) touched[row] = 1;
      for (int j = 0; j < kCols; ++j) {
        table[row * kCols + j] += static_cast<float>(
            stream.NormalAt(static_cast<uint64_t>(1000 * k + j)));
      }
      // Adding a zero would change -0 to 0.
      table[row * kCols] = -0.0f;
    }
    uint64_t k = 1 << 20;
    for (float& value : Segment(slab, 0)) {
      value = static_cast<float>(stream.NormalAt(k++));
    }
    const bool reached = shard % 2 == 0;
    if (reached) {
      for (float& value : Segment(slab, 3)) {
        value = static_cast<float>(stream.NormalAt(k++));
      }
    }
    for (const int index : {0, 1, 3}) {
      slab.SetTouchedOrClear(store_.parameters()[index], index,
                             index != 3 || reached);
    }
  }

  // Returns the sum of shards [begin, end) of a batch, added in the tree.
  std::vector<float> Sum(uint64_t batch, int begin, int end) const {
    if (end - begin == 1) {
      GradientSlab<float> slab(store_);
      Fill(batch, begin, slab);
      return {slab.values().begin(), slab.values().end()};
    }
    const int middle = begin + (end - begin + 1) / 2;
    std::vector<float> sum = Sum(batch, begin, middle);
    const std::vector<float> right = Sum(batch, middle, end);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
    return sum;
  }

  const ParameterStore<float>& store() const { return store_; }

 private:
  absl::Span<float> Segment(GradientSlab<float>& slab, int index) const {
    return store_.Segment(slab.values(), {index, &store_});
  }

  ParameterStore<float> store_;
};

// Compares without matchers, which take seconds for ten thousand elements.
bool Equal(absl::Span<const float> a, absl::Span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(GradientReducerTest, HasOneSlabPerWorkerAndPerTreeLevel) {
  const auto slabs = &GradientReducer<float>::NumSlabs;
  EXPECT_EQ(slabs(8, 1, 2), 4);
  EXPECT_EQ(slabs(8, 1, 1), 4);
  EXPECT_EQ(slabs(8, 1, 4), 5);
  EXPECT_EQ(slabs(8, 1, 8), 8);
  EXPECT_EQ(slabs(8, 1, 100), 8);
  EXPECT_EQ(slabs(64, 1, 2), 7);
  EXPECT_EQ(slabs(2, 1, 2), 2);
  EXPECT_EQ(slabs(1, 1, 2), 1);
  EXPECT_EQ(slabs(1, 3, 1), 2);
  EXPECT_EQ(slabs(8, 3, 2), 5);
}

// The shards take random times, so workers overtake each other in many ways.
// The available slabs must always suffice, and the sums must be bit-identical.
TEST(GradientReducerTest, AnyNumberOfThreadsGivesTheSameBits) {
  for (const bool sparse : {false, true}) {
    const Store store(sparse);
    for (int shards = 1; shards <= 8; ++shards) {
      std::vector<std::vector<float>> expected;
      std::vector<std::vector<float>> bits;  // the result of one thread
      for (uint64_t batch = 0; batch < 3; ++batch) {
        expected.push_back(store.Sum(batch, 0, shards));
      }
      for (int threads = 1; threads <= 8; ++threads) {
        WorkerPool pool(threads);
        GradientReducer<float> reducer(store.store(), shards, 1, pool);
        EXPECT_EQ(reducer.num_workers(), std::min(threads, shards));
        for (uint64_t batch = 0; batch < 3; ++batch) {
          const RandomStream durations(batch, "durations");
          reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
            std::this_thread::sleep_for(
                std::chrono::microseconds(durations.UniformIntAt(
                    static_cast<uint64_t>(8 * threads + shard),
                    shard == 0 ? 2000 : 200)));
            store.Fill(batch, shard, slab);
          });
          ASSERT_TRUE(reducer.ready());
          ASSERT_TRUE(Equal(reducer.gradient(), expected[batch]))
              << shards << " shards, " << threads << " threads, " << sparse;
          if (threads == 1) {
            bits.emplace_back(reducer.gradient().begin(),
                              reducer.gradient().end());
          }
          ASSERT_EQ(std::memcmp(bits[batch].data(), reducer.gradient().data(),
                                bits[batch].size() * sizeof(float)),
                    0);
        }
      }
    }
  }
}

// The gradients and norms of three optimizer steps of `accumulate` batches.
struct Updates {
  std::vector<std::vector<float>> gradients = {};
  std::vector<double> norms = {};
};

Updates UpdatesOf(const Store& store, int shards, int accumulate, int threads,
                  Ranks* ranks) {
  WorkerPool pool(threads);
  GradientReducer<float> reducer(store.store(), shards, accumulate, pool,
                                 ranks);
  Updates updates;
  for (int batch = 0; batch < 3 * accumulate; ++batch) {
    reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
      store.Fill(static_cast<uint64_t>(batch), shard, slab);
    });
    if (!reducer.ready()) continue;
    const absl::Span<const float> gradient = reducer.AllGatherGradient();
    updates.gradients.emplace_back(gradient.begin(), gradient.end());
    updates.norms.push_back(reducer.gradient_norm());
  }
  return updates;
}

bool SameBits(const Updates& a, const Updates& b) {
  for (size_t i = 0; i < a.gradients.size(); ++i) {
    if (a.norms[i] != b.norms[i] ||
        std::memcmp(a.gradients[i].data(), b.gradients[i].data(),
                    a.gradients[i].size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return a.gradients.size() == b.gradients.size();
}

TEST(GradientReducerTest, RanksEndWithTheBitsOfOneProcess) {
  for (const bool sparse : {false, true}) {
    const Store store(sparse);
    for (int shards = 1; shards <= 9; ++shards) {
      for (const int accumulate : {1, 3}) {
        const Updates expected =
            UpdatesOf(store, shards, accumulate, 1, nullptr);
        for (int size = 1; size <= shards; size *= 2) {
          for (const int threads : {1, 2}) {
            RunRanks(size, [&](Ranks& ranks) {
              EXPECT_TRUE(SameBits(
                  UpdatesOf(store, shards, accumulate, threads, &ranks),
                  expected))
                  << shards << " shards, rank " << ranks.rank() << " of "
                  << size << ", " << threads << " threads, " << accumulate
                  << " batches, " << sparse;
            });
          }
        }
      }
    }
  }
}

// Each chunk of the slab has a different number. The test extracts the chunks
// of each rank and gathers the whole slab again.
TEST(GradientReducerTest, RanksShareTheChunksOfASlab) {
  const Store store(true);
  const int64_t size = store.store().slab_size();
  const SlabChunks chunks(store.store());
  ASSERT_EQ(chunks.size(), 3);
  Slab<float> all(size);
  for (int64_t i = 0; i < size; ++i) {
    all.data()[i] = static_cast<float>(1 + i / SlabChunks::kElements);
  }
  for (const int ranks : {1, 2, 4, 8}) {
    std::vector<ChunkRange> own(static_cast<size_t>(ranks));
    RunRanks(ranks, [&](Ranks& rank) {
      WorkerPool pool(1);
      GradientReducer<float> reducer(store.store(), 8, 1, pool, &rank);
      own[rank.rank()] = reducer.own_chunks();
      Slab<float> part(size);
      reducer.CopyOwnChunks(all, &part);
      double sum = 0;
      for (const float value : part.span()) sum += value;
      double expected = 0;
      for (const float value :
           SlabChunks::PartOf(all.span(), reducer.own_chunks())) {
        expected += value;
      }
      EXPECT_EQ(sum, expected);
      Slab<float> memory;
      const absl::Span<const float> whole =
          reducer.GatherToRankZero(part, &memory);
      EXPECT_TRUE(rank.rank() != 0 || Equal(whole, all.span()));
      reducer.Gather(part.span());
      EXPECT_TRUE(Equal(part.span(), all.span())) << rank.rank();
    });
    // Each chunk must belong to exactly one rank.
    std::vector<int> owners(3);
    for (const ChunkRange& range : own) {
      for (int64_t i = range.begin; i < range.end; ++i) ++owners[i];
    }
    EXPECT_THAT(owners, ElementsAre(1, 1, 1)) << ranks << " ranks";
  }
}

TEST(GradientReducerTest, ARankComputesItsOwnShards) {
  const Store store(true);
  RunRanks(4, [&](Ranks& ranks) {
    WorkerPool pool(3);
    GradientReducer<float> reducer(store.store(), 5, 1, pool, &ranks);
    EXPECT_EQ(reducer.num_shards(), 5);
    EXPECT_EQ(reducer.num_workers(), ranks.rank() == 0 ? 2 : 1);
    EXPECT_EQ(reducer.num_slabs(), reducer.num_workers());
    std::mutex mutex;
    std::set<int> computed;
    reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
      store.Fill(0, shard, slab);
      const std::lock_guard<std::mutex> lock(mutex);
      computed.insert(shard);
    });
    const std::vector<std::set<int>> expected = {{0, 1}, {2}, {3}, {4}};
    EXPECT_EQ(computed, expected[ranks.rank()]);
  });
}

TEST(GradientReducerTest, ComputesEachShardOnceAndOneAtATimeOnAWorker) {
  const Store store(true);
  for (const int threads : {1, 2, 3, 5}) {
    WorkerPool pool(threads);
    GradientReducer<float> reducer(store.store(), 13, 1, pool);
    for (uint64_t batch = 0; batch < 20; ++batch) {
      std::vector<std::atomic<int>> running(
          static_cast<size_t>(reducer.num_workers()));
      std::vector<std::atomic<int>> calls(13);
      reducer.AddBatch([&](int worker, int shard, GradientSlab<float>& slab) {
        EXPECT_EQ(++running[worker], 1);
        ++calls[shard];
        store.Fill(batch, shard, slab);
        --running[worker];
      });
      for (const auto& count : calls) EXPECT_EQ(count, 1);
    }
  }
}

TEST(GradientReducerTest, ClaimsShardsInOrder) {
  const Store store(true);
  WorkerPool pool(1);
  GradientReducer<float> reducer(store.store(), 7, 1, pool);
  std::vector<int> order;
  reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
    order.push_back(shard);
    store.Fill(0, shard, slab);
  });
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

// Counts the slabs in use at one time by their addresses.
TEST(GradientReducerTest, EightShardsOnTwoThreadsLiveInFourSlabs) {
  const Store store(false);
  WorkerPool pool(2);
  GradientReducer<float> reducer(store.store(), 8, 1, pool);
  EXPECT_EQ(reducer.num_slabs(), 4);
  EXPECT_EQ(reducer.num_workers(), 2);
  std::mutex mutex;
  std::set<const GradientSlab<float>*> slabs;
  std::set<int> workers;
  for (uint64_t batch = 0; batch < 5; ++batch) {
    reducer.AddBatch([&](int worker, int shard, GradientSlab<float>& slab) {
      store.Fill(batch, shard, slab);
      const std::lock_guard<std::mutex> lock(mutex);
      slabs.insert(&slab);
      workers.insert(worker);
    });
  }
  EXPECT_LE(slabs.size(), 4);
  EXPECT_LE(workers.size(), 2);
}

TEST(GradientReducerTest, BatchesAreAddedInOrder) {
  for (const bool sparse : {false, true}) {
    const Store store(sparse);
    for (const int threads : {1, 2, 3}) {
      WorkerPool pool(threads);
      GradientReducer<float> reducer(store.store(), 5, 3, pool);
      EXPECT_FALSE(reducer.ready());
      EXPECT_TRUE(reducer.gradient().empty());
      for (uint64_t update = 0; update < 2; ++update) {
        std::vector<float> expected;
        for (uint64_t batch = 3 * update; batch < 3 * update + 3; ++batch) {
          const std::vector<float> sum = store.Sum(batch, 0, 5);
          if (expected.empty()) expected.resize(sum.size(), 0.0f);
          for (size_t i = 0; i < sum.size(); ++i) expected[i] += sum[i];
          reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
            store.Fill(batch, shard, slab);
          });
          EXPECT_EQ(reducer.ready(), batch == 3 * update + 2);
        }
        EXPECT_TRUE(Equal(reducer.gradient(), expected));
        double squared_norm = 0;
        for (const float value : expected) {
          squared_norm +=
              static_cast<double>(value) * static_cast<double>(value);
        }
        EXPECT_NEAR(reducer.gradient_norm(), std::sqrt(squared_norm), 1e-9);
      }
    }
  }
}

// The sum is stored in the slab of a shard, which the next batch overwrites. If
// no gradient reaches the parameters in the next batch, the sum must be 0.
TEST(GradientReducerTest, TheGradientOfAnEarlierBatchDoesNotStay) {
  ParameterStore<double> store;
  store.Root().Add("w", {1}, Constant(1));
  store.Root().Add("table", {2, 1}, Constant(1), {.sparse_gradient = true});
  store.Finalize(0);
  WorkerPool pool(1);
  GradientReducer<double> reducer(store, 2, 1, pool);
  for (const bool reached : {true, false}) {
    reducer.AddBatch([&](int, int shard, GradientSlab<double>& slab) {
      slab.ClearTouchedRows(store);
      const bool touched = reached && shard == 1;
      if (touched) {
        slab.values()[0] = 2;
        slab.values()[8] = 3;
        slab.touched_rows(1)[0] = 1;
      }
      slab.SetTouchedOrClear(store.parameters()[0], 0, touched);
      slab.SetTouchedOrClear(store.parameters()[1], 1, touched);
    });
    EXPECT_EQ(reducer.gradient()[0], reached ? 2 : 0);
    EXPECT_EQ(reducer.gradient()[8], reached ? 3 : 0);
    EXPECT_DOUBLE_EQ(reducer.gradient_norm(), reached ? std::sqrt(13) : 0);
  }
}

TEST(GradientReducerTest, AWarmBatchAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  const Store store(true);
  for (const int threads : {1, 3}) {
    for (const int accumulate : {1, 2}) {
      WorkerPool pool(threads);
      GradientReducer<float> reducer(store.store(), 8, accumulate, pool);
      int64_t before = 0;
      for (int batch = 0; batch < 8; ++batch) {
        if (batch == 2) before = AllocationCount();
        reducer.AddBatch([&](int, int, GradientSlab<float>& slab) {
          for (float& value : slab.values().subspan(0, 301)) value = 1;
          slab.SetTouchedOrClear(store.store().parameters()[0], 0, true);
        });
      }
      EXPECT_EQ(AllocationCount() - before, 0);
    }
  }
}

TEST(GradientReducerTest, AWarmBatchOfRanksAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  const Store store(true);
  RunRanks(4, [&](Ranks& ranks) {
    WorkerPool pool(1);
    GradientReducer<float> reducer(store.store(), 8, 2, pool, &ranks);
    Slab<float> weights(store.store().slab_size());
    const auto add = [&](int batches) {
      for (int batch = 0; batch < batches; ++batch) {
        reducer.AddBatch([&](int, int, GradientSlab<float>& slab) {
          for (float& value : slab.values().subspan(0, 301)) value = 1;
          slab.SetTouchedOrClear(store.store().parameters()[0], 0, true);
        });
        reducer.Gather(weights.span());
      }
      // MaxOverRanks() returns after all ranks have called it.
      return MaxOverRanks(&ranks, 0);
    };
    add(2);
    const int64_t before = AllocationCount();
    add(6);
    EXPECT_EQ(AllocationCount() - before, 0);
  });
}

TEST(GradientReducerTest, AStoreMayHaveNoParameters) {
  ParameterStore<float> store;
  store.Finalize(0);
  RunRanks(2, [&](Ranks& ranks) {
    for (Ranks* given : {static_cast<Ranks*>(nullptr), &ranks}) {
      WorkerPool pool(2);
      GradientReducer<float> reducer(store, 4, 1, pool, given);
      reducer.AddBatch([](int, int, GradientSlab<float>&) {});
      EXPECT_TRUE(reducer.gradient().empty());
      EXPECT_EQ(reducer.gradient_norm(), 0);
    }
  });
}

TEST(GradientReducerDeathTest, TheNormNeedsAllBatches) {
  const Store store(false);
  WorkerPool pool(1);
  GradientReducer<float> reducer(store.store(), 1, 2, pool);
  reducer.AddBatch([&](int, int shard, GradientSlab<float>& slab) {
    store.Fill(0, shard, slab);
  });
  EXPECT_DEATH(reducer.gradient_norm(), "1 of 2 batches");
}

TEST(GradientReducerDeathTest, RanksFitTheShards) {
  const Store store(false);
  WorkerPool pool(1);
  EXPECT_DEATH(RunRanks(2,
                        [&](Ranks& ranks) {
                          GradientReducer<float>(store.store(), 1, 1, pool,
                                                 &ranks);
                        }),
               "2 ranks, 1 shards");
}

TEST(GradientReducerDeathTest, ABatchHasAShard) {
  const Store store(false);
  WorkerPool pool(1);
  EXPECT_DEATH(GradientReducer<float>(store.store(), 0, 1, pool), "num_shards");
}

}  // namespace
}  // namespace regard
