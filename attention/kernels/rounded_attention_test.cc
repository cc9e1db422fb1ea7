// Tests of scores and contexts whose products round their operands to bfloat16.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/inner_form.h"
#include "attention/kernels/masked_softmax.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/kernels/weighted_values.h"
#include "attention/mask.h"
#include "attention/positions.h"
#include "autodiff/full_precision_scope.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/rounding_tape.h"
#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

using Numbers = std::vector<float>;

// 1 + kTiny becomes 1 when it is rounded to bfloat16.
constexpr float kTiny = 0x1p-12F;

Numbers Product(const ConstMatrix<float>& a, const ConstMatrix<float>& b) {
  Numbers c(a.rows * b.cols);
  Gemm<float>(a, b, {c.data(), a.rows, b.cols}, GemmMode::kAssign, 1,
              ProductPrecision::kBfloat16);
  return c;
}

Numbers Scaled(Numbers x, float factor) {
  for (float& value : x) value *= factor;
  return x;
}

TEST(RoundedScoresTest, TheFactorMultipliesTheProduct) {
  const float factor = 0.3F;
  ProductRoundingTape tape;
  const Var<float> a = NormalLeaf(tape, {1, 1, 4, 37}, 1);
  const Var<float> b = NormalLeaf(tape, {1, 1, 6, 37}, 2);
  const Var<float> scores = DenseScores<float>({a, b, factor}, {});
  const ConstMatrix<float> queries(a.data(), 4, 37);
  const ConstMatrix<float> keys(b.data(), 6, 37);
  EXPECT_EQ(Bits(scores.span()),
            Bits(Scaled(Product(queries, keys.Transposed()), factor)));
  // The gradient of the scores is also multiplied by the factor before
  // rounding.
  const Numbers g = Scaled(BackwardFrom(scores, 3), factor);
  const ConstMatrix<float> d_products(g.data(), 4, 6);
  EXPECT_EQ(GradientBits(a), Bits(Product(d_products, keys)));
  EXPECT_EQ(GradientBits(b), Bits(Product(d_products.Transposed(), queries)));
}

// The scores are 0.3 (128 * (1 + 2^-7) - 128) = 0.3, and 0. If the queries were
// multiplied by 0.3 before rounding, the first score would be 0.25.
TEST(RoundedScoresTest, BlocksMultiplyTheProductByTheFactor) {
  ProductRoundingTape tape;
  const InnerForm<float> form = {tape.Input({1, 1, 1, 2}, {1 + 0x1p-7F, 1}),
                                 tape.Input({1, 1, 2, 2}, {128, -128, 0, 0}),
                                 0.3F};
  const Var<float> context =
      ScaledDotAttention(form, tape.Input({1, 1, 2, 1}, {1, 0}), {});
  EXPECT_NEAR(context.item(), 1 / (1 + std::exp(-0.3)), 0.003);
}

// All products are zero, so each score is the sum of its biases.
TEST(RoundedScoresTest, RowBiasesAreNotRounded) {
  for (const int64_t key_heads : {1, 2}) {
    ProductRoundingTape tape;
    InnerForm<float> form = {tape.Full({1, 2, 2, 3}, 0),
                             tape.Full({1, key_heads, 2, 3}, 0), 0.5F};
    const Var<float> of_queries =
        tape.Input({1, 2, 2, 1}, {1 + kTiny, 2, 3, 4 + kTiny});
    // With one key head, all heads share its biases.
    const Numbers of_heads = {10 + kTiny, 20, 30, 40};
    const Var<float> of_keys = tape.Input(
        {1, key_heads, 2, 1}, absl::MakeSpan(of_heads).first(2 * key_heads));
    form.query_bias = of_queries;
    EXPECT_THAT(
        DenseScores(form, {}).span(),
        ElementsAre(1 + kTiny, 1 + kTiny, 2, 2, 3, 3, 4 + kTiny, 4 + kTiny));
    form.key_bias = of_keys;
    const float third = key_heads == 1 ? 10 + kTiny : 30;
    const float fourth = key_heads == 1 ? 20 : 40;
    const Var<float> scores = DenseScores(form, {});
    EXPECT_THAT(scores.span(),
                ElementsAre(1 + kTiny + 10 + kTiny, 1 + kTiny + 20,
                            2 + 10 + kTiny, 22, 3 + third, 3 + fourth,
                            4 + kTiny + third, 4 + kTiny + fourth));
    tape.Backward(Sum(scores), 1 + kTiny);
    EXPECT_EQ(of_queries.grad_data()[0], 2 * (1 + kTiny));
    EXPECT_EQ(of_keys.grad_data()[0], (key_heads == 1 ? 4 : 2) * (1 + kTiny));
  }
}

// Rounding to bfloat16 would make both biases of keys 300.
TEST(RoundedScoresTest, BlocksDoNotRoundRowBiases) {
  ProductRoundingTape tape;
  InnerForm<float> form = {tape.Full({1, 2, 1, 1}, 0),
                           tape.Full({1, 1, 2, 1}, 0), 0.5F};
  form.query_bias = tape.Input({1, 2, 1, 1}, {1e6, -1e6});
  form.key_bias = tape.Input({1, 1, 2, 1}, {300.25, 300});
  const Var<float> context =
      ScaledDotAttention(form, tape.Input({1, 1, 2, 1}, {1, 0}), {});
  for (const float value : context.span()) {
    // Floats near 1e6 are 1/16 apart, so a bias of the query plus a bias of a
    // key is exact.
    EXPECT_NEAR(value, 1 / (1 + std::exp(-0.25)), 0.003);
  }
}

// The bias of a masked key may be NaN, but must not affect any result.
TEST(RoundedScoresTest, AMaskedBiasReachesNothing) {
  ProductRoundingTape tape;
  const std::vector<int32_t> lengths = {1};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  InnerForm<float> form = {tape.Input({1, 1, 1, 1}, {1}),
                           tape.Input({1, 1, 2, 1}, {1, nan})};
  form.key_bias = tape.Input({1, 1, 2, 1}, {3, nan});
  const Var<float> values = tape.Input({1, 1, 2, 1}, {5, nan});
  const Var<float> context =
      ScaledDotAttention(form, values, {.key_lengths = lengths});
  EXPECT_THAT(context.span(), ElementsAre(5));
  tape.Backward(Sum(context));
  EXPECT_THAT(absl::MakeConstSpan(values.grad_data(), 2), ElementsAre(1, 0));
  EXPECT_EQ(form.key_bias.grad_data()[1], 0);
  EXPECT_EQ(form.a.grad_data()[0], 0);
}

constexpr int kQuery = 1, kKey = 2, kDistance = 4;

struct Case {
  int64_t queries, keys, key_heads, value_heads;
  int biases;  // bits of kQuery, kKey and kDistance
  bool causal;
};

// Computes attention with 4 heads. Returns the context, and the gradients of a,
// b, the values and the biases.
std::vector<Numbers> Attend(Tape<float>& tape, const Case& c, bool blocked) {
  const Positions positions = {.first_query = 2};
  const Mask mask = {.causal = c.causal};
  InnerForm<float> form = {NormalLeaf(tape, {2, 4, c.queries, 9}, 1),
                           NormalLeaf(tape, {2, c.key_heads, c.keys, 9}, 2),
                           0.3F};
  const Var<float> values = NormalLeaf(tape, {2, c.value_heads, c.keys, 5}, 3);
  std::vector<Var<float>> leaves = {form.a, form.b, values};
  if (c.biases & kQuery) {
    // Softmax ignores a bias of a query, so this gradient is 0 up to rounding.
    form.query_bias =
        tape.Constant({2, 4, c.queries, 1}, NormalFloats(8 * c.queries, 4));
  }
  if (c.biases & kKey) {
    form.key_bias = NormalLeaf(tape, {2, c.key_heads, c.keys, 1}, 5);
    leaves.push_back(form.key_bias);
  }
  if (c.biases & kDistance) {
    form.distance_bias = {
        NormalLeaf(tape, {4, c.queries + c.keys - 1}, 6),
        DistanceRange::Of(positions, c.queries, c.keys).lowest};
    leaves.push_back(form.distance_bias.values);
  }
  const Var<float> context =
      blocked ? ScaledDotAttention(form, values, mask, positions)
              : WeightedValues(MaskedSoftmax(DenseScores(form, positions), mask,
                                             positions),
                               mask, values, positions);
  std::vector<Numbers> out = {{context.span().begin(), context.span().end()}};
  BackwardFrom(context, 7);
  for (const Var<float> leaf : leaves) {
    out.emplace_back(leaf.grad_data(), leaf.grad_data() + leaf.size());
  }
  return out;
}

// Expects differences of at most `tolerance` times the largest number in `b`.
void ExpectNear(const Numbers& a, const Numbers& b, float tolerance) {
  float largest = 0;
  for (const float x : b) largest = std::max(largest, std::abs(x));
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance * largest) << i;
  }
}

// Results differ slightly, because only the blocked kernel rounds weights
// before it divides by their sum.
TEST(RoundedAttentionTest, BlocksAgreeWithDenseScores) {
  for (const auto& [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 70}, {7, 3}, {70, 133}}) {
    for (const int biases : {0, kQuery, kKey, kDistance, 7}) {
      for (const auto& [key_heads, value_heads] :
           {std::pair<int64_t, int64_t>{4, 4}, {2, 4}, {1, 2}}) {
        const Case c = {queries,     keys,   key_heads,
                        value_heads, biases, biases != kKey};
        SCOPED_TRACE(std::to_string(queries) + " x " + std::to_string(keys) +
                     ", biases " + std::to_string(biases) + ", key heads " +
                     std::to_string(key_heads));
        ProductRoundingTape first, second;
        Tape<float> plain;
        const std::vector<Numbers> blocked = Attend(first, c, true);
        const std::vector<Numbers> dense = Attend(second, c, false);
        const std::vector<Numbers> full = Attend(plain, c, true);
        for (size_t i = 0; i < dense.size(); ++i) {
          // The weight of a single key is always 1, so most gradients are 0.
          if (keys == 1 && i != 0 && i != 3) continue;
          SCOPED_TRACE(i);
          ExpectNear(blocked[i], dense[i], 0.02F);
          ExpectNear(blocked[i], full[i], 0.03F);
          if (keys > 3) {
            EXPECT_NE(blocked[i], full[i]);
          }
        }
      }
    }
  }
}

TEST(RoundedAttentionTest, ThreadsGiveTheSameBits) {
  const Case c = {70, 133, 2, 4, 7, true};
  ProductRoundingTape tape;
  const std::vector<Numbers> expected = Attend(tape, c, true);
  WorkerPool pool(3);
  std::vector<std::vector<Numbers>> found(3);
  pool.Run(3, [&](int64_t i) {
    ProductRoundingTape own;
    found[i] = Attend(own, c, true);
  });
  for (const auto& numbers : found) EXPECT_EQ(numbers, expected);
}

// A query must have the same bits alone as among other queries, because a
// decoder computes one query at a time.
TEST(RoundedAttentionTest, AQueryHasTheSameBitsAlone) {
  const int64_t queries = 40;
  const int64_t keys = 300;
  ProductRoundingTape tape;
  const Var<float> a = NormalLeaf(tape, {1, 1, queries, 9}, 1);
  const Var<float> b = NormalLeaf(tape, {1, 1, keys, 9}, 2);
  const Var<float> values = NormalLeaf(tape, {1, 1, keys, 5}, 3);
  const Var<float> all = ScaledDotAttention<float>({a, b, 0.3F}, values, {});
  for (const int64_t q : {0, 17, 39}) {
    const Var<float> query =
        tape.Input({1, 1, 1, 9}, a.span().subspan(q * 9, 9));
    const Var<float> alone =
        ScaledDotAttention<float>({query, b, 0.3F}, values, {});
    EXPECT_EQ(Bits(alone.span()), Bits(all.span().subspan(q * 5, 5))) << q;
  }
}

TEST(RoundedContextTest, HasTheBitsOfPlainProducts) {
  ProductRoundingTape tape;
  const Var<float> weights = NormalLeaf(tape, {1, 1, 4, 37}, 1);
  const Var<float> values = NormalLeaf(tape, {1, 1, 37, 5}, 2);
  const Var<float> context = WeightedValues(weights, {}, values);
  const ConstMatrix<float> w(weights.data(), 4, 37), v(values.data(), 37, 5);
  EXPECT_EQ(Bits(context.span()), Bits(Product(w, v)));
  const Numbers g = BackwardFrom(context, 3);
  const ConstMatrix<float> of_g(g.data(), 4, 5);
  EXPECT_EQ(GradientBits(weights), Bits(Product(of_g, v.Transposed())));
  EXPECT_EQ(GradientBits(values), Bits(Product(w.Transposed(), of_g)));
}

// A value of weight 0 must have no effect, even if it is NaN.
TEST(RoundedContextTest, AWeightOfZeroHidesItsValue) {
  ProductRoundingTape tape;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Var<float> weights = tape.Input({1, 1, 2, 2}, {1, 0, 0.5, 0});
  const Var<float> values = tape.Input({1, 1, 2, 1}, {1 + kTiny, nan});
  EXPECT_THAT(WeightedValues(weights, {}, values).span(), ElementsAre(1, 0.5));
}

// The backward pass runs outside of FullPrecisionScope, but must have the
// precision of the forward pass.
TEST(RoundedAttentionTest, TheBackwardPassHasThePrecisionOfItsForwardPass) {
  for (const bool blocked : {false, true}) {
    std::vector<Numbers> found[2];
    for (const bool rounds : {false, true}) {
      Tape<float> other;
      const RoundOutsideFullRule rule;
      if (rounds) other.set_precision_rule(&rule);
      const Var<float> a = NormalLeaf(other, {1, 1, 7, 9}, 1);
      const Var<float> b = NormalLeaf(other, {1, 1, 40, 9}, 2);
      const Var<float> values = NormalLeaf(other, {1, 1, 40, 5}, 3);
      const auto attend = [&] {
        if (blocked) {
          return ScaledDotAttention<float>({a, b, 0.3F}, values, {});
        }
        return WeightedValues(
            MaskedSoftmax(DenseScores<float>({a, b, 0.3F}, {}), {}), {},
            values);
      };
      Var<float> context;
      {
        const FullPrecisionScope<float> full(other);
        context = attend();
      }
      BackwardFrom(context, 4);
      for (const Var<float> x : {a, b, values}) {
        found[rounds ? 1 : 0].emplace_back(x.grad_data(),
                                           x.grad_data() + x.size());
      }
    }
    EXPECT_EQ(found[0], found[1]);
  }
}

TEST(RoundedAttentionTest, AWarmStepAllocatesNothing) {
  for (const bool causal : {false, true}) {
    ProductRoundingTape tape;
    Numbers x = NormalFloats(2 * 4 * 40 * 8, 1), d_x(x.size());
    Numbers bias = NormalFloats(2 * 4 * 40, 2), d_bias(bias.size());
    int64_t before = 0;
    for (int step = 0; step < 4; ++step) {
      if (step == 2) before = AllocationCount();
      tape.Reset();
      const Var<float> a = tape.Leaf(x.data(), d_x.data(), {2, 4, 40, 8});
      InnerForm<float> form = {a, a, 0.3F};
      form.key_bias = tape.Leaf(bias.data(), d_bias.data(), {2, 4, 40, 1});
      const Mask mask = {.causal = causal};
      const Var<float> blocked = ScaledDotAttention(form, a, mask);
      const Var<float> dense =
          WeightedValues(MaskedSoftmax(DenseScores(form, {}), mask), mask, a);
      tape.Backward(Sum(blocked) + Sum(dense));
    }
    EXPECT_EQ(AllocationCount() - before, 0);
  }
}

}  // namespace
}  // namespace regard
