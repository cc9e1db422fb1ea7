#include "evaluation/batches.h"

#include <cstdint>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/ranks/inference_ranks.h"
#include "optimization/ranks/ranks.h"
#include "optimization/testing/thread_ranks.h"

namespace regard {
namespace {

// Forward passes over a store with one parameter, whose value is 2.
class BatchesTest : public ::testing::Test {
 protected:
  BatchesTest() : weight_(parameters_.Root().Add("weight", {1}, Constant(2))) {
    parameters_.Finalize(/*seed=*/0);
    forward_.emplace(tape_, std::as_const(parameters_), nullptr);
  }

  // Returns three numbers for each batch: its first example, its size, and
  // twice the sum of its examples.
  std::vector<float> Collect(int64_t size, int64_t most) {
    std::vector<float> collected;
    ForEachBatch(
        *forward_, size, most,
        [&](Forward<float>& passes, absl::Span<const int64_t> examples) {
          float sum = 0;
          for (const int64_t i : examples) {
            sum += passes[weight_].item() * static_cast<float>(i);
          }
          return sum;
        },
        [&](absl::Span<const int64_t> examples, float sum) {
          collected.push_back(static_cast<float>(examples.front()));
          collected.push_back(static_cast<float>(examples.size()));
          collected.push_back(sum);
        });
    return collected;
  }

  // Returns the Forwards that `count` calls used. The first `together` calls
  // wait for one another. Calls on several threads must not use the pool for
  // matrix products. Calls must record on the tape if there is a hook, and only
  // then.
  std::set<const Forward<float>*> Takers(int64_t count, int64_t together = 1) {
    WorkerPool* const pool = together > 1 ? nullptr : InferenceThreads::Pool();
    std::latch begun(together);
    std::mutex mutex;
    std::set<const Forward<float>*> takers;
    const bool hook = forward_->hook() != nullptr;
    ParallelFor<float>(*forward_, count,
                       [&](Forward<float>& passes, int64_t i) {
                         if (i < together) begun.arrive_and_wait();
                         EXPECT_EQ(InferenceThreads::Pool(), pool);
                         EXPECT_EQ(passes.tape().recording(), hook);
                         const std::lock_guard<std::mutex> lock(mutex);
                         takers.insert(&passes);
                       });
    return takers;
  }

  ParameterStore<float> parameters_;
  const Parameter<float> weight_;
  Tape<float> tape_;
  std::optional<Forward<float>> forward_;
};

TEST_F(BatchesTest, CollectsInTheOrderOfTheExamplesOnAnyThreads) {
  const std::vector<float> expected = {0, 2, 2, 2, 2, 10, 4, 2, 18, 6, 1, 12};
  EXPECT_EQ(Collect(7, 2), expected);
  for (const int threads : {1, 2, 4, 8}) {
    WorkerPool pool(threads);
    const InferenceThreads help(pool);
    EXPECT_EQ(Collect(7, 2), expected) << threads << " threads";
    EXPECT_TRUE(Collect(0, 2).empty());
    EXPECT_EQ(Collect(1, 2), std::vector<float>({0, 1, 0}));
  }
}

// Processes batches on several ranks. A Share contains the results that one
// rank has collected, and the examples that this rank has computed.
class RanksOfBatchesTest : public BatchesTest {
 protected:
  struct Share {
    std::vector<std::vector<int64_t>> collected;
    std::set<int64_t> computed;
  };

  // Returns the results that this rank collects, and the examples that it
  // computes.
  Share Collect(int64_t size, int64_t most, Hook<float>* watcher) const {
    Share share;
    std::mutex mutex;
    Tape<float> tape;
    Forward<float> forward(tape, parameters_, nullptr);
    forward.set_hook(watcher);
    ForEachBatch(
        forward, size, most,
        [&](Forward<float>&, absl::Span<const int64_t> examples) {
          // Work within a batch must not be shared among ranks.
          EXPECT_EQ(InferenceRanks::Current(), nullptr);
          const std::lock_guard<std::mutex> lock(mutex);
          share.computed.insert(examples.begin(), examples.end());
          return std::vector<int64_t>(examples.begin(), examples.end());
        },
        [&](absl::Span<const int64_t>, const std::vector<int64_t>& batch) {
          share.collected.push_back(batch);
        });
    return share;
  }

  std::vector<Share> SharesOf(int ranks, int threads, int64_t size,
                              Hook<float>* watcher = nullptr) const {
    std::vector<Share> shares(static_cast<size_t>(ranks));
    RunRanks(ranks, [&](Ranks& own) {
      WorkerPool pool(threads);
      const InferenceThreads help(pool);
      const InferenceRanks share(&own);
      shares[own.rank()] = Collect(size, 2, watcher);
    });
    return shares;
  }
};

TEST_F(RanksOfBatchesTest, ShareThemAndHaveAllInOrder) {
  const std::vector<std::vector<int64_t>> all = {{0, 1}, {2, 3}, {4, 5}, {6}};
  for (const int threads : {1, 2}) {
    for (const int ranks : {1, 2, 4, 8}) {
      const std::vector<Share> shares = SharesOf(ranks, threads, 7);
      size_t computed = 0;
      for (const Share& share : shares) {
        EXPECT_EQ(share.collected, all) << ranks << " ranks";
        computed += share.computed.size();
      }
      EXPECT_EQ(computed, 7);
      if (ranks == 2) {
        EXPECT_EQ(shares[1].computed, (std::set<int64_t>{2, 3, 6}));
      }
      EXPECT_TRUE(SharesOf(ranks, threads, 0).back().collected.empty());
    }
  }
}

TEST_F(RanksOfBatchesTest, EachRankComputesAllHookedPasses) {
  SiteValueRecorder<float> watcher({"*"});
  for (const Share& share : SharesOf(2, 1, 7, &watcher)) {
    EXPECT_EQ(share.computed.size(), 7);
  }
}

TEST(InferenceRanksTest, ScopesNestAndMayBeEmpty) {
  EXPECT_EQ(InferenceRanks::Current(), nullptr);
  RunRanks(2, [](Ranks& ranks) {
    const InferenceRanks share(&ranks);
    EXPECT_EQ(InferenceRanks::Current(), &ranks);
    {
      const InferenceRanks alone(nullptr);
      EXPECT_EQ(InferenceRanks::Current(), nullptr);
    }
    EXPECT_EQ(InferenceRanks::Current(), &ranks);
  });
  RunRanks(1, [](Ranks& ranks) {
    const InferenceRanks share(&ranks);
    EXPECT_EQ(InferenceRanks::Current(), nullptr);
  });
}

TEST_F(BatchesTest, ThreadsWorkAtTheSameTimeOnPassesOfTheirOwn) {
  WorkerPool pool(3);
  const InferenceThreads help(pool);
  const auto takers = Takers(10, /*together=*/3);
  EXPECT_EQ(takers.size(), 3);
  EXPECT_TRUE(takers.contains(&*forward_));
}

TEST_F(BatchesTest, PassesOfThreadsAreKeptFromCallToCall) {
  WorkerPool pool(3);
  const InferenceThreads help(pool);
  EXPECT_EQ(Takers(10, /*together=*/3), Takers(10, /*together=*/3));
}

TEST_F(BatchesTest, FewPiecesShareThreadsWithinEachPass) {
  WorkerPool pool(4);
  const InferenceThreads help(pool);
  EXPECT_EQ(Takers(3).size(), 1);
}

TEST_F(BatchesTest, AHookedPassUsesOneThread) {
  WorkerPool pool(2);
  const InferenceThreads help(pool);
  SiteValueRecorder<float> watcher({"*"});
  forward_->set_hook(&watcher);
  EXPECT_EQ(Takers(100).size(), 1);
}

TEST(InferenceThreadsTest, ScopesNestAndMayBeEmpty) {
  EXPECT_EQ(InferenceThreads::Pool(), nullptr);
  WorkerPool pool(1);
  {
    const InferenceThreads help(pool);
    EXPECT_EQ(InferenceThreads::Pool(), &pool);
    {
      const InferenceThreads alone = InferenceThreads::None();
      EXPECT_EQ(InferenceThreads::Pool(), nullptr);
    }
    EXPECT_EQ(InferenceThreads::Pool(), &pool);
  }
  EXPECT_EQ(InferenceThreads::Pool(), nullptr);
}

}  // namespace
}  // namespace regard
