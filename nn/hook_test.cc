#include "nn/hook.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "nn/scoped_hook.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;

// Computes y = w x and z = sum of y^2, with hook points "layer[1]/y" and
// "layer[1]/z".
class Layer {
 public:
  Layer() {
    w_ = store_.Root().Add("w", {2}, Constant(3));
    store_.Finalize(0);
    gradients_.emplace(store_);
    forward_.emplace(tape_, store_, &*gradients_);
  }

  // Runs a pass with x = (1, 2), so y = (3, 6) and z = 45.
  Var<double> Run(Hook<double>* hook, bool recompute = false) {
    forward_->set_hook(hook);
    forward_->BeginStep();
    const NameScope<double> scope(tape_, "layer", 1);
    const Var<double> x = tape_.Input({2}, {1.0, 2.0});
    Forward<double>* const forward = &*forward_;
    const Parameter<double> w = w_;
    const auto compute = [=](absl::Span<const Var<double>> in) {
      const Var<double> y = forward->Site("y", (*forward)[w] * in[0]);
      return forward->Site("z", Sum(y * y));
    };
    const Var<double> in[] = {x};
    return recompute ? Recompute<double>(tape_, in, compute) : compute(in);
  }

  Forward<double>& forward() { return *forward_; }

  std::vector<double> Gradient(Var<double> z) {
    forward_->Backward({z}, {1.0});
    return {gradients_->values().begin(), gradients_->values().begin() + 2};
  }

 private:
  ParameterStore<double> store_;
  Parameter<double> w_;
  std::optional<GradientSlab<double>> gradients_;
  Tape<double> tape_;
  std::optional<Forward<double>> forward_;
};

class Replacer : public Hook<double> {
 public:
  HookRequest Request(const std::string& site) override {
    return {.replacement = site == "layer[1]/y"};
  }
  Var<double> Replace(Tape<double>&, const std::string&,
                      Var<double> value) override {
    return value * 2.0;
  }
};

TEST(MatchesSite, AStarMatchesAnyCharactersAndBracketsAreLiteral) {
  EXPECT_TRUE(MatchesSite("a[2]/b", "a[2]/b"));
  EXPECT_FALSE(MatchesSite("a[2]/b", "a2/b"));
  EXPECT_FALSE(MatchesSite("a", "ab"));
  EXPECT_FALSE(MatchesSite("ab", "a"));
  EXPECT_TRUE(MatchesSite("*", ""));
  EXPECT_TRUE(MatchesSite("", ""));
  EXPECT_FALSE(MatchesSite("", "a"));
  EXPECT_TRUE(MatchesSite("*/weights", "encoder/layers[10]/self/weights"));
  EXPECT_TRUE(MatchesSite("a*b*c", "axxbyybzc"));
  EXPECT_FALSE(MatchesSite("a*b*c", "axxbyyb"));
  EXPECT_FALSE(MatchesSite("a*bb", "abab"));
  EXPECT_FALSE(MatchesSite("ab*bc", "abc"));
  EXPECT_TRUE(MatchesSite("ab*bc", "abbc"));
  EXPECT_FALSE(MatchesSite("a*", ""));
  EXPECT_TRUE(MatchesSite("a*", "a"));
  EXPECT_FALSE(MatchesSite("*a", ""));
}

TEST(AllStepsPattern, GivesAllStepsOneName) {
  EXPECT_EQ(AllStepsPattern("step[12]/decoder/state"), "step[*]/decoder/state");
  EXPECT_EQ(AllStepsPattern("a/step[0]/b"), "a/step[*]/b");
  EXPECT_EQ(AllStepsPattern("footstep[0]/b"), "footstep[0]/b");
  EXPECT_EQ(AllStepsPattern("encoder/layers[1]/x"), "encoder/layers[1]/x");
}

TEST(Probe, NoHookIsInstalledByDefault) {
  Layer layer;
  EXPECT_EQ(layer.Run(nullptr).item(), 45);
}

TEST(SiteValueRecorder, ReadsValuesAndGradientsOfItsSites) {
  for (const bool recompute : {false, true}) {
    Layer layer;
    SiteValueRecorder<double> recorder({"*/y", "*/z"}, {"layer[1]/y"});
    EXPECT_THAT(layer.Gradient(layer.Run(&recorder, recompute)),
                ElementsAre(6, 24));
    ASSERT_EQ(recorder.seen().size(), 2);
    const auto* const y = recorder.Find("layer[1]/y");
    ASSERT_NE(y, nullptr);
    EXPECT_EQ(y->shape, Shape({2}));
    EXPECT_THAT(y->value, Pointwise(DoubleEq(), {3.0, 6.0}));
    EXPECT_THAT(y->gradient, Pointwise(DoubleEq(), {6.0, 12.0}));
    EXPECT_THAT(recorder.Find("layer[1]/z")->value, ElementsAre(45));
    EXPECT_THAT(recorder.Find("layer[1]/z")->gradient, IsEmpty());
    EXPECT_EQ(recorder.Find("y"), nullptr);
    recorder.Clear();
    EXPECT_THAT(recorder.seen(), IsEmpty());
  }
}

TEST(Probe, ReplacesInBothRunsOfARecomputation) {
  for (const bool recompute : {false, true}) {
    Layer layer;
    Replacer replacer;
    const Var<double> z = layer.Run(&replacer, recompute);
    EXPECT_EQ(z.item(), 4 * 45);
    EXPECT_THAT(layer.Gradient(z), ElementsAre(4 * 6, 4 * 24));
  }
}

TEST(Probe, SeesALazyValueIfItReadsIt) {
  ParameterStore<double> none;
  none.Finalize(0);
  Tape<double> tape;
  Forward<double> forward(tape, none, nullptr);
  const Var<double> x = tape.Input({1}, {2});
  int runs = 0;
  const auto visit = [&] {
    forward.LazySite("hidden", [&] {
      ++runs;
      return x * 3.0;
    });
  };
  visit();
  SiteValueRecorder<double> other({"other"});
  forward.set_hook(&other);
  visit();
  EXPECT_EQ(runs, 0);
  SiteValueRecorder<double> recorder({"hidden"});
  forward.set_hook(&recorder);
  visit();
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(recorder.Find("hidden")->value, ElementsAre(6));
  EXPECT_EQ(tape.records(), 0);
  EXPECT_TRUE(tape.recording());
}

TEST(ScopedExtraHook, WorksTogetherWithTheInstalledHook) {
  Layer layer;
  SiteValueRecorder<double> recorder({"*"}, {"*/y"});
  Replacer replacer;
  {
    const ScopedExtraHook<double> outer(layer.forward(), &replacer);
    EXPECT_EQ(layer.forward().hook(), &replacer);
    const ScopedExtraHook<double> inner(layer.forward(), &recorder);
    const Var<double> z = layer.Run(layer.forward().hook());
    EXPECT_EQ(z.item(), 4 * 45);
    EXPECT_THAT(layer.Gradient(z), ElementsAre(4 * 6, 4 * 24));
  }
  EXPECT_EQ(layer.forward().hook(), nullptr);
  EXPECT_THAT(recorder.Find("layer[1]/y")->value, ElementsAre(6, 12));
  EXPECT_THAT(recorder.Find("layer[1]/y")->gradient, ElementsAre(12, 24));
}

// Replaces the value of a hook point with twice its input.
class InputTaker : public Replacer {
 public:
  HookRequest Request(const std::string&) override {
    return {.replacement = true, .input = true};
  }
};

TEST(ScopedExtraHook, AnInputReplacesTheResultOfTheOuterHook) {
  Layer layer;
  Replacer replacer;
  InputTaker taker;
  Tape<double>& tape = layer.forward().tape();
  const ScopedExtraHook<double> outer(layer.forward(), &replacer);
  const ScopedExtraHook<double> inner(layer.forward(), &taker);
  const NameScope<double> scope(tape, "layer", 1);
  const Var<double> y =
      layer.forward().Site("y", tape.Full({1}, 5), tape.Full({1}, 3));
  EXPECT_EQ(y.item(), 6);
}

TEST(HookDeathTest, AnInputRequiresAHookPointWithAnInput) {
  Layer layer;
  InputTaker taker;
  EXPECT_DEATH(layer.Run(&taker), "has no input");
}

class WrongShape : public Replacer {
 public:
  Var<double> Replace(Tape<double>& tape, const std::string&,
                      Var<double>) override {
    return tape.Full({3}, 1);
  }
};

TEST(HookDeathTest, AReplacementHasTheShapeOfTheValue) {
  Layer layer;
  WrongShape wrong;
  EXPECT_DEATH(layer.Run(&wrong), "layer\\[1\\]/y .*\\[2\\].*\\[3\\]");
}

}  // namespace
}  // namespace regard
