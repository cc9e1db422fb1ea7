// Tests of the precision rule of a tape: scopes, recomputation and allocations.
#include "autodiff/precision.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/full_precision_scope.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/packed_weights.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/rounding_tape.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr ProductPrecision kFull = ProductPrecision::kFull;
constexpr ProductPrecision kBfloat16 = ProductPrecision::kBfloat16;

// Returns values and gradients of operations with products.
template <typename T>
std::vector<T> NumbersOfOperations(Tape<T>& tape) {
  const RandomStream stream(1, "operations");
  const auto leaf = [&](const Shape& shape) {
    std::vector<T> values(shape.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = stream.NormalAt(i);
    return tape.Input(shape, values);
  };
  const Var<T> x = leaf({3, 5});
  const Var<T> weight = leaf({5, 5});
  const Var<T> bias = leaf({5});
  const Var<T> y = MatMul(Linear(x, weight, bias), weight, {.b = true});
  const Var<T> products = MatMul(y.Reshape({3, 1, 5}), y.Reshape({3, 5, 1}));
  tape.Backward(LinearCrossEntropy(y, weight, {}, {0, 1, 2}) + Sum(products));
  std::vector<T> numbers = {products.data()[0]};
  for (const Var<T> of : {x, weight, bias}) {
    numbers.insert(numbers.end(), of.grad_data(), of.grad_data() + of.size());
  }
  return numbers;
}

TEST(PrecisionRuleTest, OnlyFloatTapesFollowIt) {
  Tape<double> plain, rounding;
  const RoundOutsideFullRule rule;
  rounding.set_precision_rule(&rule);
  EXPECT_EQ(NumbersOfOperations(rounding), NumbersOfOperations(plain));
  Tape<float> full;
  ProductRoundingTape rounded;
  EXPECT_NE(NumbersOfOperations(rounded), NumbersOfOperations(full));
}

TEST(PrecisionRuleTest, DecidesByScope) {
  ProductRoundingTape tape;
  EXPECT_EQ(tape.precision(), kBfloat16);
  {
    const NameScope<float> outer(tape, "full");
    EXPECT_EQ(tape.precision(), kFull);
    const NameScope<float> inner(tape, "inner");
    EXPECT_EQ(tape.precision(), kBfloat16);
  }
  tape.Reset();
  EXPECT_EQ(tape.precision(), kBfloat16);
  tape.set_precision_rule(nullptr);
  EXPECT_EQ(tape.precision(), kFull);
}

TEST(PrecisionRuleTest, AFullPrecisionScopeSuspendsIt) {
  ProductRoundingTape tape;
  {
    const FullPrecisionScope<float> outer(tape);
    EXPECT_EQ(tape.precision(), kFull);
    { const FullPrecisionScope<float> inner(tape); }
    EXPECT_EQ(tape.precision(), kFull);
  }
  EXPECT_EQ(tape.precision(), kBfloat16);
}

// The backward pass runs outside of the scope, but must have its precision.
TEST(PrecisionRuleTest, TheBackwardPassKeepsThePrecisionOfTheForwardPass) {
  ProductRoundingTape tape;
  const Var<float> x = tape.Input({1, 1}, {1 + 0x1p-12F});
  Var<float> y;
  {
    const FullPrecisionScope<float> full(tape);
    y = Linear(x, tape.Input({1, 1}, {1 + 0x1p-12F}), {});
  }
  tape.Backward(Sum(y));
  EXPECT_EQ(x.grad_data()[0], 1 + 0x1p-12F);
}

// Two layers, the second one in scope "full".
struct Layers {
  Var<float> operator()(absl::Span<const Var<float>> in) const {
    Tape<float>& tape = in[0].tape();
    const Var<float> hidden = Tanh(Linear(in[0], in[1], {}));
    const NameScope<float> scope(tape, "full");
    return Linear(hidden, in[1], {});
  }
};

struct Nested {
  Var<float> operator()(absl::Span<const Var<float>> in) const {
    const Var<float> inputs[] = {Recompute(in[0].tape(), in, Layers()), in[1]};
    return Layers()(inputs);
  }
};

// Returns the bits of the value and of the gradients of three blocks. The
// second block runs in scope "full", and the third block in a
// FullPrecisionScope.
template <typename Block>
std::vector<std::vector<uint32_t>> BitsOfBlocks(bool recomputes) {
  ProductRoundingTape tape;
  const Var<float> x = NormalLeaf(tape, {3, 6}, 1);
  const Var<float> weight = NormalLeaf(tape, {6, 6}, 2);
  const auto run = [&](Var<float> input) {
    const Var<float> inputs[] = {input, weight};
    return recomputes ? Recompute(tape, absl::MakeConstSpan(inputs), Block())
                      : Block()(inputs);
  };
  Var<float> y = run(x);
  {
    const NameScope<float> scope(tape, "full");
    y = run(y);
  }
  {
    const FullPrecisionScope<float> full(tape);
    y = run(y);
  }
  const std::vector<uint32_t> value = Bits(y.span());
  // Recomputation must not use the rule that the tape has at that time.
  tape.set_precision_rule(nullptr);
  BackwardFrom(y, 3);
  return {value, GradientBits(x), GradientBits(weight)};
}

TEST(RoundedRecomputeTest, HasTheBitsAndThePrecisionOfThePlainFunction) {
  EXPECT_EQ(BitsOfBlocks<Layers>(true), BitsOfBlocks<Layers>(false));
  EXPECT_EQ(BitsOfBlocks<Nested>(true), BitsOfBlocks<Nested>(false));
}

TEST(RoundedAllocationTest, AWarmStepAllocatesNothing) {
  std::vector<float> values = NormalFloats(24 * 24, 1), d_values(24 * 24);
  std::vector<float> plain = NormalFloats(24 * 24, 2), d_plain(24 * 24);
  PackedWeights<float> packed;
  packed.Add();
  const std::vector<int32_t> targets = {1, 2, 3, 4, 5, 6};
  ProductRoundingTape tape;
  int64_t before = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) before = AllocationCount();
    tape.Reset();
    packed.Invalidate();
    const Var<float> weight = tape.Leaf(values.data(), d_values.data(),
                                        {24, 24}, /*sparse=*/false, &packed[0]);
    const Var<float> other = tape.Leaf(plain.data(), d_plain.data(), {24, 24});
    const Var<float> inputs[] = {tape.Full({6, 24}, 0.1F), weight};
    Var<float> x = Recompute(tape, absl::MakeConstSpan(inputs), Layers());
    x = Linear(Linear(x, other, {}), WeightColumns(weight, 0, 24), {});
    x = MatMul(MatMul(x, x, {.b = true}), x);
    tape.Backward(LinearCrossEntropy(x, weight, {}, targets) +
                  LinearCrossEntropy(x, other, {}, targets));
  }
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
