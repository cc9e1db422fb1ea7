#include "nn/matched_precision.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

constexpr ProductPrecision kFull = ProductPrecision::kFull;
constexpr ProductPrecision kBfloat16 = ProductPrecision::kBfloat16;

TEST(MatchesScopeNameTest, APatternMatchesAWholeNameOrThatOfAScopeAround) {
  EXPECT_TRUE(MatchesScopeName("decoder", "decoder"));
  EXPECT_TRUE(MatchesScopeName("decoder", "decoder/layer[0]/attention"));
  EXPECT_TRUE(MatchesScopeName("decoder/layer[0]", "decoder/layer[0]"));
  EXPECT_TRUE(MatchesScopeName("decoder/layer[0]", "decoder/layer[0]/queries"));
  EXPECT_TRUE(MatchesScopeName("*/attention", "decoder/layer[0]/attention"));
  EXPECT_TRUE(MatchesScopeName("*layer[*]", "decoder/layer[3]/attention"));
  EXPECT_TRUE(MatchesScopeName("*", "decoder"));

  EXPECT_FALSE(MatchesScopeName("decoder/layer[0]", "decoder"));
  EXPECT_FALSE(MatchesScopeName("decoder/layer[1]", "decoder/layer[10]"));
  EXPECT_FALSE(MatchesScopeName("dec", "decoder"));
  EXPECT_FALSE(MatchesScopeName("layer[0]", "decoder/layer[0]"));
  EXPECT_FALSE(MatchesScopeName("*/attention", "attention"));
  EXPECT_FALSE(MatchesScopeName("", "decoder"));
  EXPECT_FALSE(MatchesScopeName("*", ""));
}

TEST(MatchedPrecisionTest, AScopeThatAPatternMatchesStaysInFullPrecision) {
  const MatchedPrecision rule({"*layer[1]", "output"});
  Tape<float> tape;
  EXPECT_EQ(rule.At(tape.scope()), kBfloat16);
  const NameScope<float> decoder(tape, "decoder");
  EXPECT_EQ(rule.At(tape.scope()), kBfloat16);
  {
    const NameScope<float> layer(tape, "layer", 1);
    EXPECT_EQ(rule.At(tape.scope()), kFull);
    const NameScope<float> attention(tape, "attention");
    EXPECT_EQ(rule.At(tape.scope()), kFull);
  }
  {
    const NameScope<float> layer(tape, "layer", 11);
    EXPECT_EQ(rule.At(tape.scope()), kBfloat16);
  }
  // Patterns match full names, and the full name is "decoder/output" here.
  const NameScope<float> output(tape, "output");
  EXPECT_EQ(rule.At(tape.scope()), kBfloat16);
}

TEST(MatchedPrecisionTest, WithoutPatternsAllProductsAreRounded) {
  const MatchedPrecision rule({});
  Tape<float> tape;
  EXPECT_EQ(rule.At(nullptr), kBfloat16);
  const NameScope<float> scope(tape, "output");
  EXPECT_EQ(rule.At(tape.scope()), kBfloat16);
}

// "*" only matches products inside of scopes.
TEST(MatchedPrecisionTest, ProductsOutsideOfScopesAreRounded) {
  EXPECT_EQ(MatchedPrecision({"*"}).At(nullptr), kBfloat16);
}

// A store of one weight [24, 24].
struct OneWeight {
  OneWeight() : weight(store.Root().Add("w", {24, 24}, XavierUniform(24, 24))) {
    store.Finalize(1);
  }

  ParameterStore<float> store;
  Parameter<float> weight;
};

TEST(MatchedPrecisionTest, AStepTakesTheRuleOfTheParameters) {
  OneWeight one;
  Tape<float> tape;
  Forward<float> forward(tape, one.store, nullptr);
  forward.MakeCompanions(1);
  EXPECT_EQ(one.store.precision(), nullptr);
  forward.BeginStep();
  EXPECT_EQ(tape.precision(), kFull);

  const auto rule = std::make_shared<const MatchedPrecision>(
      std::vector<std::string>{"full"});
  one.store.set_precision(rule);
  forward.BeginStep();
  EXPECT_EQ(tape.precision_rule(), rule.get());
  EXPECT_EQ(tape.precision(), kBfloat16);
  {
    const NameScope<float> scope(tape, "full");
    EXPECT_EQ(tape.precision(), kFull);
  }
  forward.companion(0).BeginStep();
  EXPECT_EQ(forward.companion(0).tape().precision_rule(), rule.get());

  one.store.set_precision(nullptr);
  forward.BeginStep();
  EXPECT_EQ(tape.precision(), kFull);
}

TEST(MatchedPrecisionTest, AWarmStepAllocatesNothing) {
  OneWeight one;
  // A name too long for the buffer inside a std::string.
  const std::string long_name(60, 'x');
  one.store.set_precision(std::make_shared<MatchedPrecision>(
      std::vector<std::string>{long_name + "/layer[*]", "*output"}));
  GradientSlab<float> gradients(one.store);
  Tape<float> tape;
  Forward<float> forward(tape, one.store, &gradients);
  int64_t before = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) before = AllocationCount();
    forward.BeginStep();
    Var<float> x = tape.Full({2, 24}, 1);
    {
      const NameScope<float> outer(tape, long_name.c_str());
      x = Linear(x, forward[one.weight], {});
      const NameScope<float> inner(tape, "layer", step);
      EXPECT_EQ(tape.precision(), kFull);
      x = Linear(x, forward[one.weight], {});
    }
    forward.Backward({Sum(x)}, {1.0});
    one.store.values()[0] += 1;
  }
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
