#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/optimizer.pb.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAreArray;

OptimizerConfig Config(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

// One parameter of the value 1 and one optimiser over it.
class OneNumber {
 public:
  explicit OneNumber(const std::string& config,
                     const ParameterOptions& options = {}) {
    store_.Root().Add("w", {1}, Constant(1), options);
    store_.Finalize(0);
    gradients_ = std::make_unique<GradientSlab<double>>(store_);
    optimizer_ = std::make_unique<Optimizer<double>>(Config(config), store_);
  }

  // The value after an update at rate 0.1 by this gradient.
  double Update(double gradient) {
    gradients_->values()[0] = gradient;
    optimizer_->Reduce({gradients_.get()});
    statistics_ = optimizer_->Update(0.1);
    return store_.values()[0];
  }

  const Optimizer<double>::UpdateStatistics& statistics() const {
    return statistics_;
  }

 private:
  ParameterStore<double> store_;
  std::unique_ptr<GradientSlab<double>> gradients_;
  std::unique_ptr<Optimizer<double>> optimizer_;
  Optimizer<double>::UpdateStatistics statistics_;
};

TEST(OptimizerTest, SgdFollowsTheGradient) {
  OneNumber w("sgd {}");
  EXPECT_DOUBLE_EQ(w.Update(2), 0.8);
  EXPECT_DOUBLE_EQ(w.Update(-1), 0.9);
}

TEST(OptimizerTest, SgdKeepsMomentum) {
  OneNumber w("sgd { momentum: 0.5 }");
  EXPECT_DOUBLE_EQ(w.Update(2), 0.8);  // velocity 2
  EXPECT_DOUBLE_EQ(w.Update(1), 0.6);  // velocity 0.5 * 2 + 1
  OneNumber nesterov("sgd { momentum: 0.5 nesterov: true }");
  EXPECT_DOUBLE_EQ(nesterov.Update(2), 1 - 0.1 * (2 + 0.5 * 2));
}

TEST(OptimizerTest, AdamsFirstStepHasTheLengthOfTheRate) {
  OneNumber w("adam { epsilon: 1e-30 }");
  EXPECT_NEAR(w.Update(1e-4), 0.9, 1e-12);
  // m = .1 * -1e-4 + .9 * .1 * 1e-4; bias-corrected by 1 - .81; v stays 1e-8.
  EXPECT_NEAR(w.Update(-1e-4), 0.9 + 0.1 * (0.01 / 0.19), 1e-9);
}

TEST(OptimizerTest, WeightDecayIsInTheGradientOfAdamAndOutsideOfAdamW) {
  // In the gradient: 0 + 0.5 * 1, whose Adam step is the rate.
  EXPECT_NEAR(OneNumber("adam { weight_decay: 0.5 }").Update(0), 0.9, 1e-7);
  // Outside: 1 * (1 - 0.1 * 0.5).
  EXPECT_NEAR(OneNumber("adamw { weight_decay: 0.5 }").Update(0), 0.95, 1e-12);
}

TEST(OptimizerTest, ParametersMayOptOut) {
  const std::string adamw = "adamw { weight_decay: 0.5 }";
  EXPECT_EQ(OneNumber(adamw, {.weight_decay = false}).Update(0), 1);
  EXPECT_EQ(OneNumber(adamw, {.trainable = false}).Update(0), 1);
  EXPECT_DOUBLE_EQ(OneNumber("sgd {}", {.learning_rate_scale = 0.5}).Update(2),
                   0.9);
}

TEST(OptimizerTest, ClippingBoundsTheNorm) {
  OneNumber w("sgd {} clip_norm: 2");
  EXPECT_NEAR(w.Update(8), 0.8, 1e-6);
  EXPECT_EQ(w.statistics().gradient_norm, 8);
  EXPECT_NEAR(w.statistics().clip_factor, 0.25, 1e-6);
  EXPECT_NEAR(w.Update(1), 0.7, 1e-6);
  EXPECT_EQ(w.statistics().clip_factor, 1);
}

// A store of odd sizes over several chunks, with gradients at random.
class ManyNumbers {
 public:
  explicit ManyNumbers(const std::string& config, int shards = 3) {
    store_.Root().Add("a", {4001}, Normal(1));
    store_.Root().Add("frozen", {33}, Normal(1), {.trainable = false});
    store_.Root().Add("b", {97, 101}, Normal(1), {.weight_decay = false});
    store_.Finalize(5);
    optimizer_ = std::make_unique<Optimizer<float>>(Config(config), store_);
    for (int i = 0; i < shards; ++i) {
      slabs_.push_back(std::make_unique<GradientSlab<float>>(store_));
      shards_.push_back(slabs_.back().get());
    }
  }

  void FillGradients(uint64_t seed) {
    for (size_t i = 0; i < slabs_.size(); ++i) {
      const RandomStream stream(seed + 100 * i, "gradient");
      for (const int index : {0, 2}) {
        uint64_t k = 0;
        for (float& value :
             store_.Segment(slabs_[i]->values(), Parameter<float>{index})) {
          value = static_cast<float>(stream.NormalAt(k++));
        }
      }
    }
  }

  ParameterStore<float>& store() { return store_; }
  Optimizer<float>& optimizer() { return *optimizer_; }
  absl::Span<GradientSlab<float>* const> shards() { return shards_; }

 private:
  ParameterStore<float> store_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::vector<std::unique_ptr<GradientSlab<float>>> slabs_;
  std::vector<GradientSlab<float>*> shards_;
};

TEST(OptimizerTest, BitsDoNotDependOnTheOrderOfChunks) {
  const std::string config = "adamw {} clip_norm: 1";
  ManyNumbers forwards(config);
  ManyNumbers backwards(config);
  for (uint64_t step = 0; step < 3; ++step) {
    forwards.FillGradients(step);
    forwards.optimizer().Reduce(forwards.shards());
    forwards.optimizer().Update(0.01);

    backwards.FillGradients(step);
    Optimizer<float>& optimizer = backwards.optimizer();
    ASSERT_EQ(optimizer.num_chunks(), 4);
    optimizer.BeginReduction(backwards.shards());
    for (const int chunk : {2, 0, 3, 1}) optimizer.ReduceChunk(chunk);
    optimizer.BeginUpdate(0.01);
    for (const int chunk : {3, 2, 1, 0}) optimizer.UpdateChunk(chunk);
  }
  EXPECT_THAT(backwards.store().values(),
              ElementsAreArray(forwards.store().values()));
}

TEST(OptimizerTest, ShardsAndBatchesAreSummed) {
  ManyNumbers many("sgd {} accumulate_batches: 2", 5);
  const std::vector<float> before(many.store().values().begin(),
                                  many.store().values().end());
  std::vector<double> sum(before.size(), 0.0);
  for (uint64_t batch = 0; batch < 2; ++batch) {
    EXPECT_FALSE(many.optimizer().ready());
    many.FillGradients(batch);
    for (const GradientSlab<float>* shard : many.shards()) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += shard->values()[i];
    }
    many.optimizer().Reduce(many.shards());
  }
  ASSERT_TRUE(many.optimizer().ready());
  double squared_norm = 0;
  for (const double value : sum) squared_norm += value * value;
  EXPECT_NEAR(many.optimizer().Update(0.5).gradient_norm,
              std::sqrt(squared_norm), 1e-4);
  for (size_t i = 0; i < sum.size(); ++i) {
    ASSERT_NEAR(many.store().values()[i], before[i] - 0.5 * sum[i], 1e-5);
  }
}

// The sum stands where the first shard's gradients did.
TEST(OptimizerTest, AGradientOfAnotherShardDoesNotStay) {
  ParameterStore<double> store;
  store.Root().Add("w", {1}, Constant(1));
  store.Finalize(0);
  Optimizer<double> optimizer(Config("sgd {}"), store);
  GradientSlab<double> first(store);
  GradientSlab<double> second(store);
  const ParameterInfo& info = store.parameters()[0];
  second.values()[0] = 2;
  second.SetTouched(info, 0, true);
  optimizer.Reduce({&first, &second});
  optimizer.Update(0.1);
  EXPECT_DOUBLE_EQ(store.values()[0], 0.8);
  first.SetTouched(info, 0, false);
  second.SetTouched(info, 0, false);
  optimizer.Reduce({&first, &second});
  optimizer.Update(0.1);
  EXPECT_DOUBLE_EQ(store.values()[0], 0.8);
}

// An embedding of odd extents between two vectors, over several chunks.
struct Embedded {
  static constexpr int kRows = 50;
  static constexpr int kCols = 201;

  explicit Embedded(const std::string& config, bool sparse, int shards) {
    store.Root().Add("before", {301}, Normal(1));
    store.Root().Add("table", {kRows, kCols}, Normal(1),
                     {.sparse_gradient = sparse});
    store.Root().Add("after", {7}, Normal(1));
    store.Finalize(5);
    optimizer = std::make_unique<Optimizer<float>>(Config(config), store);
    for (int i = 0; i < shards; ++i) {
      owned.push_back(std::make_unique<GradientSlab<float>>(store));
      slabs.push_back(owned.back().get());
    }
  }

  // Each shard reaches other rows; some reach none.
  void Step(uint64_t seed) {
    for (size_t i = 0; i < slabs.size(); ++i) {
      GradientSlab<float>& slab = *slabs[i];
      slab.ClearTouchedRows(store);
      const absl::Span<float> table =
          store.Segment(slab.values(), Parameter<float>{1});
      uint8_t* const touched = slab.touched_rows(1);
      if (touched == nullptr) std::fill(table.begin(), table.end(), 0.0f);
      const RandomStream stream(seed + 100 * i, "gradient");
      for (int k = 0; k < 5 * static_cast<int>(i % 3); ++k) {
        const auto row = static_cast<int>(
            stream.UniformAt(static_cast<uint64_t>(k)) * kRows);
        if (touched != nullptr) touched[row] = 1;
        for (int j = 0; j < kCols; ++j) {
          table[row * kCols + j] += static_cast<float>(
              stream.NormalAt(static_cast<uint64_t>(1000 * k + j)));
        }
      }
      for (const int index : {0, 2}) {
        for (float& value :
             store.Segment(slab.values(), Parameter<float>{index})) {
          value = static_cast<float>(i) + 0.5f;
        }
      }
      for (int index = 0; index < 3; ++index) {
        slab.SetTouched(store.parameters()[index], index, true);
      }
    }
    optimizer->Reduce(slabs);
    if (optimizer->ready()) optimizer->Update(0.01);
  }

  ParameterStore<float> store;
  std::unique_ptr<Optimizer<float>> optimizer;
  std::vector<std::unique_ptr<GradientSlab<float>>> owned;
  std::vector<GradientSlab<float>*> slabs;
};

TEST(OptimizerTest, ASparseGradientHasTheBitsOfADenseOne) {
  for (const int shards : {1, 2, 3, 8}) {
    for (const char* config : {"adam {} clip_norm: 1",
                               "sgd { momentum: 0.9 } accumulate_batches: 2"}) {
      Embedded sparse(config, true, shards);
      Embedded dense(config, false, shards);
      for (uint64_t step = 0; step < 6; ++step) {
        sparse.Step(step);
        dense.Step(step);
        ASSERT_THAT(sparse.optimizer->gradient(),
                    ElementsAreArray(dense.optimizer->gradient()))
            << config << ", " << shards << " shards, step " << step;
      }
      EXPECT_THAT(sparse.store.values(),
                  ElementsAreArray(dense.store.values()));
    }
  }
}

TEST(OptimizerTest, ContinuesFromSavedMoments) {
  const std::string config = "adam {}";
  ManyNumbers whole(config);
  ManyNumbers first(config);
  for (ManyNumbers* run : {&whole, &first}) {
    run->FillGradients(1);
    run->optimizer().Reduce(run->shards());
    run->optimizer().Update(0.01);
  }
  ManyNumbers second(config);
  ASSERT_EQ(second.optimizer().moments().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto from = first.optimizer().moments()[i].values.span();
    const auto to = second.optimizer().moments()[i].values.span();
    std::copy(from.begin(), from.end(), to.begin());
  }
  std::copy(first.store().values().begin(), first.store().values().end(),
            second.store().values().begin());
  second.optimizer().set_updates(first.optimizer().updates());
  for (ManyNumbers* run : {&whole, &second}) {
    run->FillGradients(2);
    run->optimizer().Reduce(run->shards());
    run->optimizer().Update(0.01);
  }
  EXPECT_THAT(second.store().values(),
              ElementsAreArray(whole.store().values()));
}

TEST(OptimizerDeathTest, AnUpdateNeedsItsBatches) {
  ManyNumbers many("sgd {} accumulate_batches: 2");
  many.optimizer().Reduce(many.shards());
  EXPECT_DEATH(many.optimizer().Update(0.1), "1 of 2 batches");
}

}  // namespace
}  // namespace regard
