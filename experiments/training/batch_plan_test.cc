#include "experiments/training/batch_plan.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Batches = std::vector<std::vector<int64_t>>;

// Example i has 3 + i % 5 source positions and 1 + i % 17 target positions.
SequenceLengths Lengths(int64_t i) { return {3 + i % 5, 1 + i % 17}; }

// A model with the given number of examples.
class SizedModel : public Model<float> {
 public:
  explicit SizedModel(int64_t size, bool has_lengths = true)
      : size_(size), has_lengths_(has_lengths) {
    store_.Finalize(0);
  }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return size_; }
  SequenceLengths Lengths(int64_t i) const override {
    return has_lengths_ ? ::regard::Lengths(i) : SequenceLengths();
  }
  void Loss(Forward<float>&, absl::Span<const int64_t>,
            absl::Span<const double>, absl::Span<Var<float>>) const override {}
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  const int64_t size_;
  const bool has_lengths_;
  ParameterStore<float> store_;
};

BatchPlan PlanOf(const Experiment& config, int64_t size) {
  SizedModel model(size);
  return BatchPlan(config, model);
}

Experiment Config(int batch_size, bool group = false) {
  Experiment config;
  config.set_seed(7);
  config.mutable_training()->set_batch_size(batch_size);
  config.mutable_training()->set_group_by_length(group);
  return config;
}

// Returns the concatenated batches of an epoch.
Batches Epoch(BatchPlan& plan, int64_t epoch) {
  Batches batches;
  const int64_t updates = plan.updates_per_epoch();
  for (int64_t step = 0; step < updates; ++step) {
    for (const absl::Span<const int64_t> batch :
         plan.BatchesOf(epoch * updates + step)) {
      batches.emplace_back(batch.begin(), batch.end());
    }
  }
  return batches;
}

// Returns the first `count` examples of an epoch.
std::vector<int64_t> Order(uint64_t seed, int64_t epoch, int64_t size,
                           int64_t count) {
  Experiment config = Config(/*batch_size=*/3);
  config.set_seed(seed);
  config.mutable_training()->set_examples_per_epoch(count);
  BatchPlan plan = PlanOf(config, size);
  std::vector<int64_t> order;
  for (const auto& batch : Epoch(plan, epoch)) {
    order.insert(order.end(), batch.begin(), batch.end());
  }
  return order;
}

TEST(ExampleOrderTest, VisitsEveryExampleOnce) {
  std::vector<int64_t> order = Order(1, 0, 5, 5);
  std::sort(order.begin(), order.end());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ExampleOrderTest, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(Order(1, 2, 50, 50), Order(1, 2, 50, 50));
  EXPECT_NE(Order(1, 2, 50, 50), Order(1, 3, 50, 50));
  EXPECT_NE(Order(1, 2, 50, 50), Order(2, 2, 50, 50));
}

TEST(ExampleOrderTest, AShorterOrderIsThePrefixOfTheWhole) {
  const std::vector<int64_t> whole = Order(1, 2, 50, 50);
  const std::vector<int64_t> part = Order(1, 2, 50, 7);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

TEST(ExampleOrderTest, AcceptsNoneOrOneExample) {
  EXPECT_THAT(Order(1, 0, 0, 0), IsEmpty());
  EXPECT_THAT(Order(1, 0, 1, 1), ElementsAre(0));
}

TEST(ExampleOrderTest, EveryExampleIsFirstEquallyOften) {
  std::vector<int> counts(4);
  for (int seed = 0; seed < 4000; ++seed) {
    ++counts[Order(seed, 0, 4, 1)[0]];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 110);
}

std::multiset<int64_t> Examples(const Batches& batches) {
  std::multiset<int64_t> examples;
  for (const auto& batch : batches) examples.insert(batch.begin(), batch.end());
  return examples;
}

std::multiset<int64_t> All(int64_t count) {
  std::multiset<int64_t> examples;
  for (int64_t i = 0; i < count; ++i) examples.insert(i);
  return examples;
}

int64_t Padding(const Batches& batches) {
  int64_t padding = 0;
  for (const auto& batch : batches) {
    SequenceLengths longest = {};
    for (const int64_t i : batch) {
      for (int side : {0, 1}) {
        longest[side] = std::max(longest[side], Lengths(i)[side]);
      }
    }
    for (const int64_t i : batch) {
      for (int side : {0, 1}) padding += longest[side] - Lengths(i)[side];
    }
  }
  return padding;
}

TEST(BatchPlanTest, WithoutGroupsBatchesArePiecesOfTheOrder) {
  Experiment config = Config(4);
  config.mutable_optimizer()->set_accumulate_batches(2);
  BatchPlan plan = PlanOf(config, 21);
  EXPECT_EQ(plan.updates_per_epoch(), 3);
  const std::vector<int64_t> order = Order(7, 1, 21, 21);
  std::vector<int64_t> flat;
  for (const auto& batch : Epoch(plan, 1)) {
    EXPECT_LE(batch.size(), 4);
    flat.insert(flat.end(), batch.begin(), batch.end());
  }
  EXPECT_EQ(flat, order);
  // The five examples of the last optimizer step must be divided into two
  // batches of almost equal sizes.
  EXPECT_THAT(plan.BatchesOf(2),
              ElementsAre(::testing::SizeIs(2), ::testing::SizeIs(3)));
}

TEST(BatchPlanTest, EveryEpochHasEachExampleOnce) {
  for (const int tokens : {0, 40}) {
    Experiment config = Config(8, /*group=*/true);
    config.mutable_training()->set_batch_tokens(tokens);
    BatchPlan plan = PlanOf(config, 203);
    const Batches first = Epoch(plan, 0);
    const Batches second = Epoch(plan, 1);
    EXPECT_EQ(Examples(first), All(203));
    EXPECT_EQ(Examples(second), All(203));
    EXPECT_NE(first, second);
    // The batches of an epoch must not depend on earlier calls.
    EXPECT_EQ(Epoch(plan, 0), first);
    BatchPlan other = PlanOf(config, 203);
    EXPECT_EQ(Epoch(other, 1), second);
  }
}

// For a model without lengths, group_by_length must change nothing.
TEST(BatchPlanTest, WithoutLengthsGroupsHaveNoEffect) {
  SizedModel model(40, /*has_lengths=*/false);
  Experiment config = Config(/*batch_size=*/3, /*group=*/true);
  config.mutable_training()->set_batch_tokens(5);
  config.mutable_training()->set_examples_per_epoch(10);
  BatchPlan grouped(config, model);
  config.mutable_training()->set_group_by_length(false);
  BatchPlan plain(config, model);
  EXPECT_EQ(Epoch(grouped, 1), Epoch(plain, 1));
  EXPECT_EQ(grouped.updates_per_epoch(), 4);
}

TEST(BatchPlanTest, GroupsPadLess) {
  BatchPlan random = PlanOf(Config(8), 2040);
  BatchPlan grouped = PlanOf(Config(8, /*group=*/true), 2040);
  EXPECT_LT(10 * Padding(Epoch(grouped, 0)), Padding(Epoch(random, 0)));
}

TEST(BatchPlanTest, LongerStepsShuffleMore) {
  Experiment config = Config(8, /*group=*/true);
  BatchPlan fine = PlanOf(config, 203);
  config.mutable_training()->set_length_step(4);
  BatchPlan coarse = PlanOf(config, 203);
  EXPECT_GT(Padding(Epoch(coarse, 0)), Padding(Epoch(fine, 0)));
}

TEST(BatchPlanTest, CountsPositions) {
  Experiment config = Config(1, /*group=*/true);
  config.mutable_training()->set_batch_tokens(40);
  BatchPlan plan = PlanOf(config, 203);
  size_t most = 0;
  for (const auto& batch : Epoch(plan, 3)) {
    int64_t longest = 0;
    for (const int64_t i : batch) {
      longest = std::max({longest, Lengths(i)[0], Lengths(i)[1]});
    }
    EXPECT_LE(longest * static_cast<int64_t>(batch.size()), 40);
    most = std::max(most, batch.size());
  }
  EXPECT_GE(most, 8);
  // An example with more than batch_tokens positions must be a batch by itself.
  config.mutable_training()->set_batch_tokens(2);
  BatchPlan small = PlanOf(config, 203);
  EXPECT_EQ(small.updates_per_epoch(), 203);
}

TEST(BatchPlanTest, AnUpdateTakesSeveralBatches) {
  Experiment config = Config(8, /*group=*/true);
  config.mutable_optimizer()->set_accumulate_batches(4);
  BatchPlan plan = PlanOf(config, 100);  // 13 batches
  EXPECT_EQ(plan.updates_per_epoch(), 4);
  EXPECT_EQ(plan.BatchesOf(0).size(), 4);
  // The last optimizer step has one batch with examples, and three empty
  // batches.
  EXPECT_THAT(plan.BatchesOf(3), ElementsAre(::testing::Not(IsEmpty()),
                                             IsEmpty(), IsEmpty(), IsEmpty()));
  EXPECT_EQ(Examples(Epoch(plan, 2)), All(100));
}

TEST(BatchPlanTest, AcceptsNoneOrOneExample) {
  BatchPlan nothing = PlanOf(Config(8, /*group=*/true), 0);
  EXPECT_EQ(nothing.updates_per_epoch(), 0);
  BatchPlan one = PlanOf(Config(8, /*group=*/true), 1);
  EXPECT_EQ(one.updates_per_epoch(), 1);
  EXPECT_EQ(Epoch(one, 4), Batches({{0}}));
}

}  // namespace
}  // namespace regard
