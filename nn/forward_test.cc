#include "nn/forward.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "autodiff/ops/linear.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

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
  const Tape<float>& tape() const { return tape_; }
  const float* weight() const { return passes_[weight_].data(); }
  float* stored() { return store_.values().data(); }

 private:
  // The store is complete before `passes_` is made.
  Parameter<float> Finished() {
    const Parameter<float> weight =
        store_.Root().Add("w", {40, 24}, XavierUniform(40, 24));
    store_.Finalize(1);
    return weight;
  }

  ParameterStore<float> store_;
  Parameter<float> weight_ = Finished();
  Tape<float> tape_;
  Forward<float> passes_;
};

TEST(ForwardTest, KeptLeavesGiveTheSameBits) {
  Steps kept(true), anew(false);
  for (const int64_t rows : {1, 3, 40, 1, 0, 700, 5}) {
    EXPECT_EQ(kept.Run(rows), anew.Run(rows)) << rows;
    EXPECT_EQ(kept.weight(), kept.stored());
  }
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
