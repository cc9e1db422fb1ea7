#include "nn/forward.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

// The one weight of a store, which is complete then.
Parameter<float> OnlyWeight(ParameterStore<float>& store, int64_t rows,
                            int64_t cols) {
  const Parameter<float> weight =
      store.Root().Add("w", {rows, cols}, XavierUniform(rows, cols));
  store.Finalize(1);
  return weight;
}

// y = x w^T of a store with one weight, step by step.
class Steps {
 public:
  explicit Steps(bool keeps) : passes_(tape_, std::as_const(store_), nullptr) {
    if (keeps) passes_.KeepLeaves();
  }

  // x is [rows, 24] of ones.
  std::vector<float> Run(int64_t rows) {
    passes_.BeginStep();
    const Var<float> x = tape_.Full({rows, 24}, 1);
    const Var<float> y = Linear(x, passes_[weight_], {});
    // Belongs to the step.
    tape_.Input(y.shape(), y.span());
    return {y.span().begin(), y.span().end()};
  }

  Forward<float>& passes() { return passes_; }
  void KeepLeaves() { passes_.KeepLeaves(); }
  const Tape<float>& tape() const { return tape_; }
  const float* weight() const { return passes_[weight_].data(); }
  float* stored() { return store_.values().data(); }

 private:
  ParameterStore<float> store_;
  Parameter<float> weight_ = OnlyWeight(store_, 40, 24);
  Tape<float> tape_;
  Forward<float> passes_;
};

// Losses of one step of a chain, which is long enough to be released.
class Losses {
 public:
  // The gradient of the weight; the losses' values stay what they are. The
  // later of the two is made of what is older than the other.
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

TEST(ForwardDeathTest, AStepGoesBackOnce) {
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

TEST(ForwardTest, KeptLeavesGiveTheSameBits) {
  Steps kept(true), anew(false);
  for (const int64_t rows : {1, 3, 40, 1, 0, 700, 5}) {
    EXPECT_EQ(kept.Run(rows), anew.Run(rows)) << rows;
    EXPECT_EQ(kept.weight(), kept.stored());
  }
}

TEST(ForwardTest, LeavesMayBeKeptFromALaterStepOn) {
  Steps kept(false), anew(false);
  const std::vector<float> first = kept.Run(1);
  kept.KeepLeaves();
  for (const int64_t rows : {1, 3, 700, 1, 1}) {
    EXPECT_EQ(kept.Run(rows), anew.Run(rows)) << rows;
    EXPECT_EQ(kept.weight(), kept.stored());
  }
  // They are kept now.
  kept.stored()[0] += 1;
  EXPECT_EQ(kept.Run(1), first);
}

TEST(ForwardTest, CompanionsTakeTheModeAndTheRandomState) {
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
      EXPECT_EQ(of_companion.random().NumberOf(1), 5);
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
}

TEST(ForwardTest, OnlyKeptLeavesKeepWhatProductsKeep) {
  for (const bool keeps : {true, false}) {
    Steps steps(keeps);
    const std::vector<float> first = steps.Run(1);
    for (int step = 0; step < 3; ++step) steps.Run(1);
    // A layout is a copy: it does not see what is against the rules.
    steps.stored()[0] += 1;
    EXPECT_EQ(steps.Run(1) == first, keeps);
  }
}

TEST(ForwardTest, StepsOverKeptLeavesTakeNoMoreMemory) {
  Steps steps(true);
  for (int step = 0; step < 3; ++step) steps.Run(100);
  const size_t before = steps.tape().high_water_bytes();
  for (int step = 0; step < 100; ++step) steps.Run(100);
  EXPECT_EQ(steps.tape().high_water_bytes(), before);
}

TEST(ForwardDeathTest, KeptLeavesHaveNoGradients) {
  ParameterStore<float> store;
  store.Root().Add("w", {2, 2}, Constant(1));
  store.Finalize(1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> passes(tape, store, &gradients);
  passes.KeepLeaves();
  EXPECT_DEATH(passes.BeginStep(), "gradients of leaves that are kept");
}

}  // namespace
}  // namespace regard
