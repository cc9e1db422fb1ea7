#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/packed_weights.h"
#include "autodiff/random.h"
#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/optimizer.pb.h"
#include "optimization/optimizer_registry.h"
#include "optimization/optimizers/adam.h"
#include "optimization/optimizers/built_in_optimizers.h"
#include "optimization/optimizers/sgd.h"
#include "optimization/slab_chunks.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

OptimizerConfig Config(const std::string& text) {
  OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

template <typename T>
std::unique_ptr<Optimizer<T>> Make(const OptimizerConfig& config,
                                   ParameterStore<T>& store) {
  OptimizerRegistry optimizers;
  RegisterBuiltInOptimizers(optimizers);
  return optimizers.Create(config, store);
}

// One parameter with the value 1, and its optimizer.
class OneNumber {
 public:
  explicit OneNumber(const std::string& config,
                     const ParameterOptions& options = {}) {
    store_.Root().Add("w", {1}, Constant(1), options);
    store_.Finalize(0);
    gradient_ = Slab<double>(store_.slab_size());
    optimizer_ = Make(Config(config), store_);
  }

  // Updates the parameter at the learning rate 0.1, and returns its new value.
  double Update(double gradient, double clip_factor = 1) {
    gradient_.data()[0] = gradient;
    optimizer_->Update({.learning_rate = 0.1,
                        .clip_factor = clip_factor,
                        .gradient = gradient_.span()},
                       pool_);
    return store_.values()[0];
  }

 private:
  WorkerPool pool_ = WorkerPool(1);
  ParameterStore<double> store_;
  Slab<double> gradient_;
  std::unique_ptr<Optimizer<double>> optimizer_;
};

TEST(OptimizerTest, AnUpdateMakesPackedCopiesOutOfDate) {
  ParameterStore<double> store;
  store.Root().Add("w", {1, 1}, Constant(1));
  store.Finalize(0);
  const auto optimizer = Make(Config("sgd {}"), store);
  const Slab<double> gradient(store.slab_size());
  WorkerPool pool(1);
  PackedPart<double>* const part =
      store.packed(0).FindOrAdd({0, 1, 1, 1}, PackedForm::kTranspose);
  const ConstMatrix<double> weight(store.values().data(), 1, 1);
  part->PackIfOutdated(weight);
  ASSERT_NE(part->WithCurrent(weight).panels, nullptr);
  optimizer->Update({.learning_rate = 0.1, .gradient = gradient.span()}, pool);
  EXPECT_EQ(part->WithCurrent(weight).panels, nullptr);
}

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
  // The first moment is (.1 * -1e-4 + .9 * .1 * 1e-4) / (1 - .81) after bias
  // correction. The second moment stays 1e-8.
  EXPECT_NEAR(w.Update(-1e-4), 0.9 + 0.1 * (0.01 / 0.19), 1e-9);
}

TEST(OptimizerTest, WeightDecayIsInTheGradientOfAdamAndOutsideOfAdamW) {
  // Adam adds the decay to the gradient: 0 + 0.5 * 1. The length of the first
  // step is the learning rate.
  EXPECT_NEAR(OneNumber("adam { weight_decay: 0.5 }").Update(0), 0.9, 1e-7);
  // AdamW applies the decay to the parameter: 1 * (1 - 0.1 * 0.5).
  EXPECT_NEAR(OneNumber("adamw { weight_decay: 0.5 }").Update(0), 0.95, 1e-12);
}

// Returns the values of six parameters, initially 1, after an optimizer step
// with gradient 0 at the rate 0.1. They are a matrix, a bias, the gain of a
// normalization, an embedding matrix, an embedding vector, and a bias for each
// head.
std::vector<double> ValuesAfterDecay(const std::string& config) {
  ParameterStore<double> store;
  const ParameterScope<double> root = store.Root();
  root.Add("matrix", {1, 1}, Constant(1));
  root.Add("bias", {1}, Constant(1));
  root.Add("gain", {1}, Constant(1), {.role = ParameterRole::kNormalization});
  root.Add("table", {1, 1}, Constant(1), {.role = ParameterRole::kEmbedding});
  root.Add("row", {1}, Constant(1), {.role = ParameterRole::kEmbedding});
  root.Add("heads", {1, 1}, Constant(1), {.role = ParameterRole::kHeadBias});
  store.Finalize(0);
  const Slab<double> gradient(store.slab_size());
  WorkerPool pool(1);
  Make(Config(config), store)
      ->Update({.learning_rate = 0.1, .gradient = gradient.span()}, pool);
  std::vector<double> values;
  for (int32_t i = 0; i < 6; ++i) values.push_back(store.value({i, &store})[0]);
  return values;
}

TEST(OptimizerTest, WeightDecayAppliesToTheChosenParameters) {
  const auto apply = [](const std::string& choice) {
    return ValuesAfterDecay("adamw { weight_decay: 0.5 " + choice + " }");
  };
  // The value after the decay, 1 - 0.1 * 0.5.
  constexpr double k = 0.95;
  EXPECT_THAT(apply(""), ElementsAre(k, k, 1, k, k, k));
  EXPECT_THAT(apply("decayed_parameters: EXCEPT_NORMALIZATION"),
              ElementsAre(k, k, 1, k, k, k));
  EXPECT_THAT(apply("decayed_parameters: ALL_PARAMETERS"),
              ElementsAre(k, k, k, k, k, k));
  EXPECT_THAT(apply("decayed_parameters: MATRICES"),
              ElementsAre(k, 1, 1, k, 1, 1));
  EXPECT_THAT(apply("decayed_parameters: MATRICES_EXCEPT_EMBEDDINGS"),
              ElementsAre(k, 1, 1, 1, 1, 1));
}

TEST(OptimizerTest, EveryRuleWithWeightDecayHasTheChoice) {
  EXPECT_THAT(ValuesAfterDecay(
                  "sgd { weight_decay: 0.5 decayed_parameters: MATRICES }"),
              ElementsAre(0.95, 1, 1, 0.95, 1, 1));
  // The length of the first step of Adam is the learning rate.
  const auto near = ::testing::DoubleNear(0.9, 1e-7);
  EXPECT_THAT(ValuesAfterDecay(
                  "adam { weight_decay: 0.5 decayed_parameters: MATRICES }"),
              ElementsAre(near, 1, 1, near, 1, 1));
}

TEST(OptimizerTest, ParametersMayOptOut) {
  const std::string adamw = "adamw { weight_decay: 0.5 }";
  EXPECT_EQ(OneNumber(adamw, {.role = ParameterRole::kNormalization}).Update(0),
            1);
  EXPECT_EQ(OneNumber(adamw, {.trainable = false}).Update(0), 1);
  EXPECT_DOUBLE_EQ(OneNumber("sgd {}", {.learning_rate_scale = 0.5}).Update(2),
                   0.9);
}

TEST(OptimizerTest, ClippingBoundsTheNorm) {
  EXPECT_NEAR(ClipFactor(8, 2), 0.25, 1e-6);
  EXPECT_EQ(ClipFactor(1, 2), 1);
  EXPECT_EQ(ClipFactor(1e30, 0), 1);
  EXPECT_EQ(ClipFactor(0, 2), 1);
  EXPECT_TRUE(std::isnan(ClipFactor(NAN, 2)));
  EXPECT_EQ(ClipFactor(INFINITY, 2), 0);
  EXPECT_EQ(ClipFactor(NAN, 0), 1);
  EXPECT_DOUBLE_EQ(OneNumber("sgd {}").Update(8, 0.25), 0.8);
  // Weight decay must not be clipped.
  EXPECT_DOUBLE_EQ(OneNumber("sgd { weight_decay: 1 }").Update(8, 0.25), 0.7);
}

// The smallest epsilon must also work in training, which runs in float and
// flushes denormal numbers.
TEST(OptimizerTest, TheSmallestEpsilonKeepsAZeroGradientAtZero) {
  const ScopedFlushDenormals flush;
  for (const char* config : {"adam { epsilon: 1e-30 }",
                             "adamw { epsilon: 1e-30 weight_decay: 0 }"}) {
    ParameterStore<float> store;
    store.Root().Add("w", {1}, Constant(1));
    store.Finalize(0);
    const Slab<float> gradient(store.slab_size());
    WorkerPool pool(1);
    const auto optimizer = Make(Config(config), store);
    for (int update = 0; update < 3; ++update) {
      optimizer->Update({.learning_rate = 0.1, .gradient = gradient.span()},
                        pool);
    }
    EXPECT_EQ(store.values()[0], 1) << config;
  }
}

// A store with parameters of odd sizes over several chunks, and random
// gradients.
class ManyNumbers {
 public:
  explicit ManyNumbers(const std::string& config, int threads = 1)
      : ManyNumbers([&](auto& store) { return Make(Config(config), store); },
                    threads) {}

  explicit ManyNumbers(const std::function<std::unique_ptr<Optimizer<float>>(
                           ParameterStore<float>&)>& make,
                       int threads = 1)
      : pool_(threads) {
    store_.Root().Add("a", {4001}, Normal(1));
    store_.Root().Add("frozen", {33}, Normal(1), {.trainable = false});
    store_.Root().Add("b", {97, 101}, Normal(1),
                      {.role = ParameterRole::kNormalization});
    store_.Finalize(5);
    gradient_ = Slab<float>(store_.slab_size());
    optimizer_ = make(store_);
  }

  void Update(uint64_t seed, std::optional<ChunkRange> chunks = std::nullopt) {
    const RandomStream stream(seed, "gradient");
    for (int64_t i = 0; i < gradient_.size(); ++i) {
      gradient_.data()[i] =
          static_cast<float>(stream.NormalAt(static_cast<uint64_t>(i)));
    }
    optimizer_->Update({.learning_rate = 0.01,
                        .clip_factor = 0.5,
                        .gradient = gradient_.span(),
                        .chunks = chunks},
                       pool_);
  }

  bool HasBitsOf(const ManyNumbers& other) const {
    const absl::Span<const float> values = store_.values();
    return std::memcmp(values.data(), other.store_.values().data(),
                       values.size() * sizeof(float)) == 0;
  }

  ParameterStore<float>& store() { return store_; }
  Optimizer<float>& optimizer() { return *optimizer_; }

 private:
  WorkerPool pool_;
  ParameterStore<float> store_;
  Slab<float> gradient_;
  std::unique_ptr<Optimizer<float>> optimizer_;
};

TEST(OptimizerTest, BitsDoNotDependOnThreads) {
  for (const char* config : {"adamw {}", "adam {}", "sgd { momentum: 0.9 }"}) {
    ManyNumbers one(config);
    for (uint64_t step = 0; step < 3; ++step) one.Update(step);
    for (const int threads : {2, 3, 8}) {
      ManyNumbers many(config, threads);
      for (uint64_t step = 0; step < 3; ++step) many.Update(step);
      EXPECT_TRUE(many.HasBitsOf(one)) << config << ", " << threads;
    }
  }
}

// Several optimizers that update different chunks, as on several ranks, must
// give the same bits as one optimizer.
TEST(OptimizerTest, ChunksUpdatedSeparatelyGiveTheSameBits) {
  for (const char* config : {"adamw {}", "adam {}", "sgd { momentum: 0.9 }"}) {
    ManyNumbers all(config);
    ManyNumbers first(config);
    ManyNumbers rest(config);
    for (uint64_t step = 0; step < 3; ++step) {
      all.Update(step);
      first.Update(step, ChunkRange{0, 1});
      rest.Update(step, ChunkRange{1, 4});
      // Each optimizer has updated only its own chunks.
      EXPECT_FALSE(rest.HasBitsOf(all));
      const auto own = SlabChunks::PartOf(first.store().values(), {0, 1});
      std::copy(own.begin(), own.end(), rest.store().values().begin());
      EXPECT_TRUE(rest.HasBitsOf(all)) << config << ", step " << step;
      const auto others = SlabChunks::PartOf(rest.store().values(), {1, 4});
      std::copy(others.begin(), others.end(),
                SlabChunks::PartOf(first.store().values(), {1, 4}).begin());
    }
    for (const auto& state : first.optimizer().state()) {
      const auto others = SlabChunks::PartOf(state.values.span(), {1, 4});
      EXPECT_EQ(std::ranges::count(others, 0.0F), std::ssize(others));
    }
  }
}

TEST(OptimizerTest, EveryTrainableElementAndNoOtherIsUpdated) {
  ManyNumbers many("sgd {}");
  const std::vector<float> before(many.store().values().begin(),
                                  many.store().values().end());
  many.Update(1);
  for (const ParameterInfo& info : many.store().parameters()) {
    for (int64_t i = info.offset; i < info.offset + info.size(); ++i) {
      ASSERT_EQ(many.store().values()[i] != before[i], info.options.trainable)
          << info.name << " at " << i - info.offset;
    }
  }
}

TEST(OptimizerTest, ContinuesFromASavedState) {
  for (const char* config : {"adam {}", "sgd { momentum: 0.9 }", "sgd {}"}) {
    ManyNumbers whole(config);
    ManyNumbers first(config);
    whole.Update(1);
    first.Update(1);
    ManyNumbers second(config);
    for (size_t i = 0; i < first.optimizer().state().size(); ++i) {
      EXPECT_EQ(second.optimizer().state()[i].name,
                first.optimizer().state()[i].name);
      const auto from = first.optimizer().state()[i].values.span();
      std::copy(from.begin(), from.end(),
                second.optimizer().state()[i].values.data());
    }
    std::copy(first.store().values().begin(), first.store().values().end(),
              second.store().values().begin());
    second.optimizer().set_updates(first.optimizer().updates());
    whole.Update(2);
    second.Update(2);
    EXPECT_TRUE(second.HasBitsOf(whole)) << config;
  }
}

TEST(OptimizerTest, OptionsHaveTheDefaultsOfConfigs) {
  const auto expect = [](auto rule, const std::string& config) {
    ManyNumbers configured(config);
    ManyNumbers plain(rule);
    for (const uint64_t seed : {1, 2, 3}) {
      configured.Update(seed);
      plain.Update(seed);
    }
    EXPECT_TRUE(plain.HasBitsOf(configured)) << config;
  };
  const auto adam = [](const AdamOptions& options) {
    return [=](ParameterStore<float>& store) {
      return std::make_unique<Adam<float>>(options, store);
    };
  };
  expect(adam({}), "adam {}");
  expect(adam({.weight_decay = 0.5}), "adam { weight_decay: 0.5 }");
  expect(adam({.weight_decay = 0.01, .decoupled = true}), "adamw {}");
  const auto sgd = [](const SgdOptions& options) {
    return [=](ParameterStore<float>& store) {
      return std::make_unique<Sgd<float>>(options, store);
    };
  };
  expect(sgd({}), "sgd {}");
  expect(sgd({.momentum = 0.5, .nesterov = true, .weight_decay = 0.5}),
         "sgd { momentum: 0.5 nesterov: true weight_decay: 0.5 }");
}

TEST(OptimizerTest, StateHasTheNamesOfTheCheckpointFormat) {
  const auto names = [](const std::string& config) {
    ManyNumbers many(config);
    std::vector<std::string> names;
    for (const auto& state : many.optimizer().state()) {
      names.push_back(state.name);
    }
    return names;
  };
  EXPECT_THAT(names(""), ElementsAre("first_moment", "second_moment"));
  EXPECT_THAT(names("adamw {}"), ElementsAre("first_moment", "second_moment"));
  EXPECT_THAT(names("sgd { momentum: 0.5 }"), ElementsAre("momentum"));
  EXPECT_THAT(names("sgd {}"), ElementsAre());
}

TEST(OptimizerDeathTest, AGradientHasTheSizeOfTheParameters) {
  ManyNumbers many("sgd {}");
  WorkerPool pool(1);
  const std::vector<float> gradient(3);
  EXPECT_DEATH(many.optimizer().Update({.gradient = gradient}, pool),
               "3 vs. .* the gradient is not a slab of this store");
}

TEST(OptimizerDeathTest, OptionsHaveTheRangesOfConfigs) {
  ParameterStore<float> store;
  store.Finalize(0);
  EXPECT_DEATH(Adam<float>({.beta1 = 2}, store),
               "AdamOptions::beta1 is 2, but must be from 0 to 0.999999");
  EXPECT_DEATH(Adam<float>({.beta2 = 1}, store), "beta2 is 1");
  EXPECT_DEATH(Adam<float>({.epsilon = 0}, store), "epsilon is 0");
  EXPECT_DEATH(Adam<float>({.weight_decay = -1}, store), "weight_decay is -1");
  EXPECT_DEATH(Sgd<float>({.momentum = NAN}, store), "momentum is nan");
  EXPECT_DEATH(Sgd<float>({.weight_decay = -1}, store), "weight_decay is -1");
}

}  // namespace
}  // namespace regard
