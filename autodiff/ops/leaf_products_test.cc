#include "autodiff/ops/leaf_products.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/packed_weights.h"
#include "autodiff/random.h"
#include "autodiff/recurrent/recurrent.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Var<float> RandomLeaf(Tape<float>& tape, const Shape& shape, uint64_t seed) {
  const RandomStream stream(seed, "leaf");
  std::vector<float> values(shape.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(stream.NormalAt(i));
  }
  return tape.Input(shape, values);
}

std::vector<float> Gradient(Var<float> x) {
  if (x.grad_data() == nullptr) return {};
  return std::vector<float>(x.grad_data(), x.grad_data() + x.size());
}

// Sets the gradient of y to standard normal numbers.
void Seed(Var<float> y, uint64_t seed) {
  const RandomStream stream(seed, "seed");
  if (auto d = y.grad_ref()) {
    d.AddEach(
        [&](int64_t i) { return static_cast<float>(stream.NormalAt(i)); });
  }
}

const float* PanelsOf(const WeightPart<float>& part, int64_t rows = 1,
                      int64_t products = 1) {
  return TransposedForProducts(part, rows, products, ProductPrecision::kFull)
      .panels;
}

// A weight of zeros and ones whose owner keeps packed copies.
struct OwnWeight {
  explicit OwnWeight(const Shape& shape)
      : shape(shape), values(shape.size()), gradient(shape.size()) {
    for (size_t i = 0; i < values.size(); i += 3) values[i] = 1;
    packed.Add();
  }

  Var<float> Leaf(Tape<float>& tape, bool needs_grad = true) {
    return tape.Leaf(values.data(), needs_grad ? gradient.data() : nullptr,
                     shape, /*sparse=*/false, &packed[0]);
  }

  // Returns the number, counted from 1, of the first product with a leaf that
  // uses a packed copy. Returns 100 if none of the first 99 products uses a
  // copy.
  int64_t FirstOfLeaf(bool needs_grad, int64_t rows) {
    Tape<float> tape;
    const WeightPart<float> part(Leaf(tape, needs_grad));
    int64_t product = 1;
    while (product < 100 && PanelsOf(part, rows) == nullptr) ++product;
    packed.Invalidate();
    return product;
  }

  Shape shape;
  std::vector<float> values;
  std::vector<float> gradient;
  PackedWeights<float> packed;
};

TEST(LeafCopyTest, TheSecondProductOfAStepMakesIt) {
  OwnWeight weight({5, 3});
  Tape<float> tape;
  for (int step = 0; step < 3; ++step) {
    tape.Reset();
    EXPECT_EQ(PanelsOf(WeightPart<float>(weight.Leaf(tape))), nullptr);
  }
  tape.Reset();
  const WeightPart<float> part(weight.Leaf(tape));
  EXPECT_EQ(PanelsOf(part), nullptr);
  const float* const panels = PanelsOf(part);
  ASSERT_NE(panels, nullptr);
  EXPECT_EQ(PanelsOf(part), panels);
  OwnWeight many({5, 3});
  EXPECT_NE(PanelsOf(WeightPart<float>(many.Leaf(tape)), 1, 2), nullptr);
}

TEST(LeafCopyTest, WithoutAGradientTheEighthProductMakesTheCopy) {
  OwnWeight weight({5, 3});
  EXPECT_EQ(weight.FirstOfLeaf(true, 1), 2);
  EXPECT_EQ(weight.FirstOfLeaf(false, 1), 8);
  Tape<float> tape;
  for (int product = 1; product <= 8; ++product) {
    tape.Reset();
    EXPECT_EQ(PanelsOf(WeightPart<float>(weight.Leaf(tape, false))) != nullptr,
              product == 8);
  }
  // A product for several steps of a sequence must count as several products.
  OwnWeight recurrent({5, 3});
  EXPECT_NE(PanelsOf(WeightPart<float>(recurrent.Leaf(tape, false)), 1, 8),
            nullptr);
}

TEST(LeafCopyTest, AFewRowsReadALargePartWithoutGradientInPlaceAtFirst) {
  OwnWeight large({512, 512});
  EXPECT_EQ(large.FirstOfLeaf(false, 1), 64);
  EXPECT_EQ(large.FirstOfLeaf(false, kGemmFewRows), 64);
  EXPECT_EQ(large.FirstOfLeaf(false, kGemmFewRows + 1), 8);
  EXPECT_EQ(large.FirstOfLeaf(true, 1), 2);
  EXPECT_EQ(OwnWeight({511, 511}).FirstOfLeaf(false, 1), 8);
}

TEST(LeafCopyTest, AllTapesReadOneUntilTheWeightChanges) {
  OwnWeight weight({5, 3});
  Tape<float> first;
  Tape<float> second;
  const float* const panels =
      PanelsOf(WeightPart<float>(weight.Leaf(first)), 1, 2);
  ASSERT_NE(panels, nullptr);
  const int64_t bytes = weight.packed.bytes();
  for (const bool needs_grad : {true, false}) {
    second.Reset();
    const WeightPart<float> other(weight.Leaf(second, needs_grad));
    EXPECT_EQ(PanelsOf(other), panels);
    EXPECT_EQ(PanelsOf(other), panels);
  }
  EXPECT_EQ(weight.packed.bytes(), bytes);
  // If the weights change within a step, the next product must read the new
  // weights.
  second.Reset();
  const Var<float> leaf = weight.Leaf(second);
  const Var<float> x = second.Full({2, 3}, 1);
  EXPECT_EQ(Linear(x, leaf, {}).data()[0], 1);
  weight.packed.Invalidate();
  weight.values[0] = 7;
  EXPECT_EQ(PanelsOf(WeightPart<float>(leaf)), nullptr);
  EXPECT_EQ(Linear(x, leaf, {}).data()[0], 7);
  EXPECT_EQ(PanelsOf(WeightPart<float>(leaf)), panels);
  EXPECT_EQ(Linear(x, leaf, {}).data()[0], 7);
  EXPECT_EQ(weight.packed.bytes(), bytes);
}

#ifndef NDEBUG
TEST(LeafCopyDeathTest, UnreportedChangesAreDetected) {
  OwnWeight weight({5, 3});
  Tape<float> tape;
  const WeightPart<float> part(weight.Leaf(tape));
  PanelsOf(part, 1, 2);
  weight.values[14] = 2;
  EXPECT_DEATH(PanelsOf(part), "a weight was changed through a span");
}
#endif

TEST(LeafCopyTest, BelongsToAPartOfAnyShape) {
  OwnWeight owner({2, 2, 3});
  Tape<float> tape;
  const Var<float> weight = owner.Leaf(tape);
  const WeightPart<float> whole(weight.Reshape({4, 3}));
  const WeightPart<float> left(weight.Reshape({4, 3}), 0, 4, 0, 2);
  const WeightPart<float> lower(weight.Reshape({4, 3}), 2, 2, 0, 3);
  PanelsOf(whole);
  EXPECT_EQ(PanelsOf(left), nullptr);
  EXPECT_EQ(PanelsOf(lower), nullptr);
  const float* const panels =
      PanelsOf(WeightPart<float>(weight.Reshape({4, 3})));
  EXPECT_NE(panels, nullptr);
  EXPECT_EQ(PanelsOf(whole), panels);
  EXPECT_NE(PanelsOf(left), panels);
  EXPECT_NE(PanelsOf(lower), panels);
}

TEST(LeafCopyTest, ProductsOfManyRowsUseItButDoNotMakeIt) {
  OwnWeight weight({5, 3});
  Tape<float> tape;
  const WeightPart<float> part(weight.Leaf(tape));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(PanelsOf(part, 1000), nullptr);
  PanelsOf(part);
  EXPECT_NE(PanelsOf(part), nullptr);
  EXPECT_NE(PanelsOf(part, 1000), nullptr);
}

TEST(LeafCopyTest, WithoutAnOwnerOfCopiesThereIsOneForSeveralProductsAtOnce) {
  Tape<float> tape;
  for (const Var<float> weight :
       {RandomLeaf(tape, {2, 2}, 1), tape.Full({2, 2}, 1)}) {
    const WeightPart<float> part(weight);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PanelsOf(part), nullptr);
    const ScratchScope<float> scratch(tape);
    EXPECT_NE(PanelsOf(part, 1, 2), nullptr);
    EXPECT_EQ(PanelsOf(part), nullptr);
  }
}

TEST(LeafCopyTest, ChangesNoBits) {
  OwnWeight weight({40, 24});
  for (size_t i = 0; i < weight.values.size(); ++i) {
    weight.values[i] =
        static_cast<float>(RandomStream(1, "weight").NormalAt(i));
  }
  Tape<float> tape;
  const Var<float> with = weight.Leaf(tape);
  const Var<float> without =
      tape.Leaf(weight.values.data(), nullptr, weight.shape);
  for (const int64_t rows : {1, 3, 40, 1, 0, 700, 5}) {
    const Var<float> x = RandomLeaf(tape, {rows, 24}, rows);
    const Var<float> y = Linear(x, with, {});
    EXPECT_THAT(y.span(), ElementsAreArray(Linear(x, without, {}).span()))
        << rows;
  }
  EXPECT_NE(PanelsOf(WeightPart<float>(with)), nullptr);
  EXPECT_EQ(PanelsOf(WeightPart<float>(without)), nullptr);
}

// Expects that queued gradient products are bit-identical to one product of all
// rows, in the order of the backward pass.
void ExpectBitsOfOneProduct(int64_t rows, int64_t steps, int64_t first_column,
                            int64_t columns) {
  const int64_t out = 7;
  const int64_t in = 50;
  Tape<float> tape;
  const Var<float> weight = RandomLeaf(tape, {out, in}, 1);
  std::vector<Var<float>> xs, ys;
  for (int64_t t = 0; t < steps; ++t) {
    xs.push_back(RandomLeaf(tape, {rows, columns}, 10 + t));
    ys.push_back(
        Linear(xs[t], WeightColumns(weight, first_column, columns), {}));
    Seed(ys[t], 100 + t);
  }
  tape.BackwardTo({});
  std::vector<float> g, x;
  for (int64_t t = steps - 1; t >= 0; --t) {
    g.insert(g.end(), ys[t].grad_data(), ys[t].grad_data() + ys[t].size());
    x.insert(x.end(), xs[t].data(), xs[t].data() + xs[t].size());
  }
  std::vector<float> expected(out * in, 0);
  Gemm<float>(ConstMatrix<float>(g.data(), rows * steps, out).Transposed(),
              {x.data(), rows * steps, columns},
              {expected.data() + first_column, out, columns, in});
  EXPECT_EQ(Gradient(weight), expected)
      << steps << " steps of " << rows << " rows";
}

TEST(LeafQueueTest, HasTheBitsOfOneProduct) {
  ExpectBitsOfOneProduct(1, 1, 0, 50);
  ExpectBitsOfOneProduct(1, 300, 0, 50);
  ExpectBitsOfOneProduct(64, 4, 0, 50);
  ExpectBitsOfOneProduct(64, 13, 0, 50);
  ExpectBitsOfOneProduct(100, 8, 0, 50);
  ExpectBitsOfOneProduct(255, 5, 0, 50);
  ExpectBitsOfOneProduct(256, 3, 0, 50);
  ExpectBitsOfOneProduct(100, 8, 3, 40);
  ExpectBitsOfOneProduct(0, 2, 0, 50);
}

TEST(LeafQueueTest, OnlyReachedProductsAreAdded) {
  Tape<float> tape;
  const Var<float> weight = tape.Input({1, 2}, {3, 5});
  const Var<float> unused = tape.Input({1, 2}, {3, 5});
  const Var<float> x = tape.Input({1, 2}, {1, 2});
  const Var<float> y = Linear(x, weight, {});
  Linear(tape.Full({1, 2}, 100), weight, {});
  Linear(x, unused, {});
  tape.Backward(y.Reshape({}), 2);
  EXPECT_THAT(Gradient(weight), ElementsAre(2, 4));
  EXPECT_THAT(Gradient(x), ElementsAre(6, 10));
  EXPECT_EQ(unused.grad_data(), nullptr);
}

TEST(LeafQueueTest, AddsToAGradientThatAProductOfManyRowsBegan) {
  for (const bool many_first : {true, false}) {
    Tape<float> tape;
    const Var<float> weight = tape.Input({1, 1}, {1});
    Var<float> sum;
    for (const int64_t rows : {many_first ? 400 : 3, many_first ? 3 : 400}) {
      const Var<float> y = Sum(Linear(tape.Full({rows, 1}, 1), weight, {}));
      sum = sum.has_value() ? sum + y : y;
    }
    tape.Backward(sum);
    EXPECT_THAT(Gradient(weight), ElementsAre(403));
  }
}

// `table` is used by Gather() and by Linear(), in either order. Its gradient
// must be the sum of both gradients, for few rows and for many.
TEST(LeafQueueTest, TiedWeightsGetBothGradients) {
  for (const bool gather_first : {true, false}) {
    for (const int64_t rows : {2, 300}) {
      Tape<float> tape;
      std::vector<float> values = {1, 2, 3, 4, 5, 6};
      std::vector<float> grad(6, 0);
      const Var<float> table =
          tape.Leaf(values.data(), grad.data(), {3, 2}, /*sparse=*/true);
      const Var<float> x = tape.Full({rows, 2}, 1);
      Var<float> gathered, product;
      if (gather_first) gathered = Sum(Gather(table, {1, 1}, {2}));
      product = Sum(Linear(x, table, {}));
      if (!gather_first) gathered = Sum(Gather(table, {1, 1}, {2}));
      tape.Backward(gathered + product);
      const auto n = static_cast<float>(rows);
      EXPECT_THAT(grad, ElementsAre(n, n, n + 2, n + 2, n, n));
      EXPECT_THAT(tape.touched_rows(table), Each(1));
    }
  }
}

struct Weights {
  Var<float> input, hidden, bias;
};

// One step of a decoder: a projection of x by some columns of a weight, then a
// recurrent cell.
struct Step {
  Weights weights;
  bool lstm;

  Var<float> operator()(absl::Span<const Var<float>> in) const {
    const Var<float> projected = Linear(
        in[0], WeightColumns(weights.input, 1, 3),
        Linear(in[1], WeightColumns(weights.input, 4, in[1].cols()), {}));
    RecurrentSequenceOperands<float> inputs;
    inputs.projected =
        projected.Reshape({projected.dim(0), 1, projected.cols()});
    inputs.weight_hh = weights.hidden;
    inputs.initial = {in[1]};
    if (!lstm) return GruSequence(inputs, GruForm::kResetBefore).final_state[0];
    inputs.initial[1] = in[1];
    inputs.bias_hh = weights.bias;
    return LstmSequence(inputs).final_state[0];
  }
};

// Returns the gradients of x and of the weights, in this order, for a
// recurrence. The steps in the bit set `recomputed` use activation
// checkpointing.
std::vector<std::vector<float>> RecurrenceGradients(Tape<float>& tape,
                                                    bool lstm, int64_t batch,
                                                    int steps,
                                                    unsigned recomputed) {
  const int64_t width = 5;
  const int64_t gates = (lstm ? 4 : 3) * width;
  const Weights weights = {RandomLeaf(tape, {gates, 4 + width}, 1),
                           RandomLeaf(tape, {gates, width}, 2),
                           RandomLeaf(tape, {gates}, 3)};
  const Var<float> x = RandomLeaf(tape, {batch, 3}, 4);
  const Step step = {weights, lstm};
  Var<float> state = RandomLeaf(tape, {batch, width}, 5);
  for (int t = 0; t < steps; ++t) {
    const Var<float> inputs[] = {x, state};
    state = (recomputed >> t & 1) != 0
                ? Recompute(tape, absl::MakeConstSpan(inputs), step)
                : step(inputs);
  }
  Seed(state, 6);
  tape.BackwardTo({});
  return {Gradient(x), Gradient(weights.input), Gradient(weights.hidden),
          Gradient(weights.bias)};
}

// Steps with and without activation checkpointing begin, fill and flush the
// queue in different orders. The gradients must be bit-identical. With a batch
// of 100, the queue of kGemmDepth rows becomes full in the middle of a step.
TEST(LeafQueueTest, AnyMixOfRecomputedAndPlainStepsHasTheSameBits) {
  constexpr int kSteps = 4;
  for (const bool lstm : {false, true}) {
    for (const int64_t batch : {3, 100}) {
      std::vector<std::vector<float>> plain;
      for (unsigned recomputed = 0; recomputed < 1u << kSteps; ++recomputed) {
        Tape<float> tape;
        const auto gradients =
            RecurrenceGradients(tape, lstm, batch, kSteps, recomputed);
        if (recomputed == 0) {
          plain = gradients;
          EXPECT_FALSE(plain[2].empty());
        }
        EXPECT_EQ(gradients, plain) << "recomputed " << recomputed;
      }
    }
  }
}

TEST(LeafQueueTest, AWarmStepAllocatesNothing) {
  OwnWeight owner({2, 3});
  Tape<float> tape;
  int64_t before = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) before = AllocationCount();
    tape.Reset();
    // Invalidates the copies, as an optimizer step does.
    owner.packed.Invalidate();
    const Var<float> weight = owner.Leaf(tape);
    Var<float> y = tape.Full({100, 2}, 1);
    for (int t = 0; t < 5; ++t) {
      const Var<float> inputs[] = {y};
      const auto fn = [=](absl::Span<const Var<float>> in) {
        return Linear(in[0], WeightColumns(weight, 1, 2), {});
      };
      y = t % 2 == 0 ? Recompute(tape, absl::MakeConstSpan(inputs), fn)
                     : fn(inputs);
    }
    tape.Backward(Sum(y));
  }
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
