#include "nn/forward.h"

#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

// Adds a weight to an empty store and finalizes the store.
Parameter<float> OnlyWeight(ParameterStore<float>& store, int64_t rows,
                            int64_t cols) {
  const Parameter<float> weight =
      store.Root().Add("w", {rows, cols}, XavierUniform(rows, cols));
  store.Finalize(1);
  return weight;
}

// Computes y = x w^T, where w is the only weight of a store. Has its own tape.
class Steps {
 public:
  explicit Steps(const ParameterStore<float>& store,
                 GradientSlab<float>* gradients = nullptr)
      : store_(store), passes_(tape_, store, gradients) {}

  // Runs a step that multiplies x [rows, 24], whose elements are all 1, by the
  // weight. Computes the product `products` times, and returns the last result.
  std::vector<float> Run(int64_t rows, int products = 1) {
    passes_.BeginStep();
    const Parameter<float> weight = {0, &store_};
    Var<float> y;
    for (int i = 0; i < products; ++i) {
      y = Linear(tape_.Full({rows, 24}, 1), passes_[weight], {});
    }
    return {y.span().begin(), y.span().end()};
  }

  // Returns the expected result of Run(), computed from a leaf without packed
  // copies.
  std::vector<float> Expected(int64_t rows) const {
    Tape<float> tape;
    const ParameterInfo& info = store_.parameters()[0];
    const Var<float> y =
        Linear(tape.Full({rows, 24}, 1),
               tape.Input(info.shape, store_.value({0, &store_})), {});
    return {y.span().begin(), y.span().end()};
  }

 private:
  const ParameterStore<float>& store_;
  Tape<float> tape_;
  Forward<float> passes_;
};

// Computes two losses by a chain of operations that is long enough for
// Backward() to release values.
class Losses {
 public:
  // Returns the gradient of the weight if the losses have the gradients
  // `of_first` and `of_second`. Checks that the losses keep their values. The
  // second loss depends on values that are older than the first loss.
  std::vector<float> Gradient(double of_first, double of_second) {
    Tape<float> tape;
    Forward<float> forward(tape, store_, &gradients_);
    forward.BeginStep();
    Var<float> x = tape.Full({512, 64}, 1);
    for (int i = 0; i < 20; ++i) x = Tanh(Linear(x, forward[weight_], {}));
    const Var<float> first = Mean(x);
    const Var<float> second = Mean(Square(x));
    const float values[] = {first.item(), second.item()};
    forward.Backward({second, tape.Full({}, 1), first},
                     {of_second, 1, of_first});
    EXPECT_EQ(first.item(), values[0]);
    EXPECT_EQ(second.item(), values[1]);
    return {gradients_.values().begin(), gradients_.values().end()};
  }

 private:
  ParameterStore<float> store_;
  Parameter<float> weight_ = OnlyWeight(store_, 64, 64);
  GradientSlab<float> gradients_{store_};
};

TEST(ForwardTest, SeveralLossesAddUpAndKeepTheirValues) {
  Losses losses;
  const std::vector<float> first = losses.Gradient(1, 0);
  const std::vector<float> second = losses.Gradient(0, 1);
  const std::vector<float> both = losses.Gradient(2, -3);
  for (size_t i = 0; i < both.size(); ++i) {
    ASSERT_NEAR(both[i], 2 * first[i] - 3 * second[i], 1e-6);
  }
}

TEST(ForwardDeathTest, AStepHasOneBackwardPass) {
  ParameterStore<float> store;
  const Parameter<float> weight = store.Root().Add("w", {1, 1}, Constant(1));
  store.Finalize(1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  for (int step = 0; step < 2; ++step) {
    forward.BeginStep();
    forward.Backward({Sum(forward[weight])}, {1.0});
  }
  EXPECT_DEATH(forward.Backward({Sum(forward[weight])}, {1.0}),
               "Backward\\(\\) was called twice in a step");
}

TEST(ForwardTest, PackedWeightsGiveTheSameBits) {
  ParameterStore<float> store;
  OnlyWeight(store, 40, 24);
  GradientSlab<float> gradients(store);
  Steps training(store, &gradients);
  Steps inference(store);
  for (const int64_t rows : {1, 3, 40, 1, 0, 700, 5}) {
    EXPECT_EQ(training.Run(rows), training.Expected(rows)) << rows;
    EXPECT_EQ(inference.Run(rows, 8), inference.Expected(rows)) << rows;
  }
  EXPECT_GT(store.packed_bytes(), 0);
}

TEST(ForwardTest, AChangedWeightIsPackedAgain) {
  ParameterStore<float> store;
  const Parameter<float> weight = OnlyWeight(store, 40, 24);
  GradientSlab<float> gradients(store);
  for (GradientSlab<float>* const slab : {&gradients, {}}) {
    Steps steps(store, slab);
    std::vector<float> last = steps.Run(2, 8);
    const auto changed = [&] {
      const std::vector<float> before = std::exchange(last, steps.Run(2, 8));
      EXPECT_EQ(last, steps.Expected(2));
      return last != before;
    };
    EXPECT_FALSE(changed());
    store.values()[0] += 1;
    EXPECT_TRUE(changed());
    store.value(weight)[30] += 1;
    EXPECT_TRUE(changed());
    for (float& value : store.values()) value *= 2;
    EXPECT_TRUE(changed());
  }
}

TEST(ForwardTest, AllThreadsShareThePackedWeights) {
  ParameterStore<float> store;
  OnlyWeight(store, 40, 24);
  Steps alone(store);
  const std::vector<float> expected = alone.Run(2, 8);
  const int64_t bytes = store.packed_bytes();
  ASSERT_GT(bytes, 0);
  store.values();  // invalidates the packed copies
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Steps steps(store);
      EXPECT_EQ(steps.Run(2, 20), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.packed_bytes(), bytes);
}

TEST(ForwardTest, AWarmStepOverNewWeightsAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  ParameterStore<float> store;
  const Parameter<float> weight = OnlyWeight(store, 40, 24);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> passes(tape, store, &gradients);
  int64_t before = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) before = AllocationCount();
    passes.BeginStep();
    for (int i = 0; i < 3; ++i) {
      Linear(tape.Full({2, 24}, 1), passes[weight], {});
    }
    store.values()[0] += 1;
  }
  EXPECT_GT(store.packed_bytes(), 0);
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST(ForwardTest, CompanionsCopyTheModeAndTheRandomState) {
  ParameterStore<float> store;
  OnlyWeight(store, 1, 1);
  Tape<float> tape;
  Forward<float> passes(tape, store, nullptr);
  const std::vector<int64_t> examples = {4, 5};
  for (const bool training : {true, false}) {
    tape.set_training(training);
    tape.set_random({.seed = 3, .step = 5, .examples = examples});
    passes.MakeCompanions(2);
    for (int64_t i = 0; i < 2; ++i) {
      passes.companion(i).BeginStep();
      const Tape<float>& of_companion = passes.companion(i).tape();
      EXPECT_EQ(of_companion.training(), training);
      EXPECT_EQ(of_companion.random().seed, 3);
      EXPECT_EQ(of_companion.random().step, 5);
      EXPECT_EQ(of_companion.random().ExampleNumber(1), 5);
    }
  }
  EXPECT_DEATH(passes.companion(2), "call MakeCompanions\\(\\) first");
}

TEST(ForwardDeathTest, AParameterOfAnotherStoreIsRefused) {
  ParameterStore<float> store;
  const Parameter<float> own = OnlyWeight(store, 1, 1);
  ParameterStore<float> other;
  const Parameter<float> foreign = OnlyWeight(other, 1, 1);
  Tape<float> tape;
  Forward<float> passes(tape, store, nullptr);
  passes.BeginStep();
  EXPECT_EQ(passes[own].size(), 1);
  EXPECT_DEATH(passes[foreign], "parameter 0 belongs to another store");
  EXPECT_DEATH(passes[Parameter<float>()], "the Parameter is empty");
}

TEST(ForwardDeathTest, ScalarsAreOnTheTape) {
  ParameterStore<float> store;
  OnlyWeight(store, 1, 1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Tape<float> other;
  Forward<float> passes(tape, store, &gradients);
  passes.BeginStep();
  EXPECT_DEATH(passes.Backward({other.Full({}, 1)}, {1.0}),
               "Backward\\(\\) of values on different tapes");
  EXPECT_DEATH(passes.Backward({Var<float>()}, {1.0}),
               "Backward\\(\\) of an empty Var");
  EXPECT_DEATH(passes.Backward({tape.Full({2}, 1)}, {1.0}),
               "losses are scalars: Backward\\(\\) from \\[2\\]");
}

}  // namespace
}  // namespace regard
