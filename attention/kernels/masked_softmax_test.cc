#include "attention/kernels/masked_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "attention/mask.h"
#include "autodiff/fault_finder.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A mask, and the positions of its queries and keys.
struct MaskCase {
  Mask mask;
  Positions positions = {};
};

// All kinds of masks for 2 examples, 3 queries and 5 keys. Some masks hide all
// keys of a row.
std::vector<MaskCase> Masks() {
  static constexpr int32_t kPerExample[] = {5, 2};
  static constexpr int32_t kPerQuery[] = {1, 5, 3, 0, 2, 4};
  static constexpr uint8_t kDense[] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 1,
                                       1, 1, 1, 1, 1, 0, 1, 0, 0, 0,
                                       1, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  return {{},
          {{.key_lengths = kPerExample}},
          {{.key_lengths = kPerQuery}},
          {{.causal = true}},
          {{.causal = true}, {.first_query = 2}},
          {{.causal = true}, {.first_query = 3, .query_step = 0}},
          {{.causal = true}, {.first_query = 7, .first_key = 5}},
          {{.dense = kDense}},
          {{.window = 1}},
          {{.window = 2}, {.first_query = 1}},
          {{.window = 2}, {.first_query = 9}},
          {{.causal = true, .window = 2}, {.first_query = 2}},
          {{.window = 2}, {.first_query = 2, .query_step = 0}},
          {{.key_lengths = kPerExample, .causal = true}},
          {{.key_lengths = kPerExample, .dense = kDense}},
          {{.key_lengths = kPerQuery, .window = 2, .dense = kDense}},
          {{.causal = true, .dense = kDense}, {.first_query = 1}},
          {{.key_lengths = kPerQuery, .causal = true, .dense = kDense}}};
}

const Shape kShape({2, 2, 3, 5});

// Whether a key is visible, by the definition of the mask.
bool Visible(const MaskCase& c, int64_t b, int64_t q, int64_t k) {
  const Mask& mask = c.mask;
  const Positions& p = c.positions;
  if (mask.key_lengths.size() == 2 && k >= mask.key_lengths[b]) return false;
  if (mask.key_lengths.size() == 6 && k >= mask.key_lengths[b * 3 + q]) {
    return false;
  }
  const int64_t query = p.first_query + q * p.query_step;
  const int64_t key = p.first_key + k;
  if (mask.causal && key > query) return false;
  if (mask.window > 0 && std::abs(query - key) >= mask.window) return false;
  return mask.dense.empty() || mask.dense[(b * 3 + q) * 5 + k] != 0;
}

// 1 for visible keys and 0 for masked keys, [2, 2, 3, 5].
template <typename T>
Var<T> Indicator(Tape<T>& tape, const MaskCase& mask) {
  Var<T> visible = tape.Constant(kShape);
  for (int64_t i = 0; i < visible.size(); ++i) {
    visible.data()[i] = Visible(mask, i / 30, i / 5 % 3, i % 5) ? T(1) : T(0);
  }
  return visible;
}

// Softmax as a composition of operations. A row that sees no key has weights 0.
template <typename T>
Var<T> Reference(Tape<T>& tape, Var<T> scores, const MaskCase& mask) {
  const Var<T> e = Exp(scores) * Indicator(tape, mask);
  const Var<T> sum = Sum(e, -1, /*keep=*/true);
  Var<T> empty = tape.Constant(sum.shape());
  for (int64_t i = 0; i < sum.size(); ++i) {
    empty.data()[i] = sum.data()[i] == T(0) ? T(1) : T(0);
  }
  return e / (sum + empty);
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const MaskCase& mask : Masks()) {
    cases.push_back(MakeCase(
        "MaskedSoftmax", "a mask", {{kShape, -3, 3}}, [=](auto&, auto in) {
          return MaskedSoftmax(in[0], mask.mask, mask.positions);
        }));
    cases.push_back(MakeCase(
        "MaskedSoftmaxContext", "a mask", {{kShape, -3, 3}, {{2, 2, 5, 3}}},
        [=](auto&, auto in) {
          return MaskedSoftmaxContext(in[0], mask.mask, in[1], mask.positions)
              .context;
        }));
    cases.push_back(MakeCase(
        "MaskedSoftmaxContext", "its weights and its context",
        {{kShape, -3, 3}, {{2, 2, 5, 3}}}, [=](auto&, auto in) {
          auto both =
              MaskedSoftmaxContext(in[0], mask.mask, in[1], mask.positions);
          return Sum(both.context) * Sum(both.weights * both.weights);
        }));
  }
  return cases;
}

TEST(MaskedSoftmaxTest, Gradients) { CheckGradients(Cases()); }

// Gradients of scores and of a bias. A vector is empty if its array needs no
// gradient.
struct BiasedGradients {
  std::vector<float> scores, bias;
};

// If `twice` is true, adds another gradient of 1 to each score.
BiasedGradients GradientsWithBias(const MaskCase& mask, bool of_scores,
                                  bool of_bias, bool twice = false) {
  Tape<float> tape;
  const auto input = [&](const Shape& shape, double step, bool needs_grad) {
    std::vector<float> values(shape.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
    }
    return needs_grad ? tape.Input(shape, values)
                      : tape.Constant(shape, values);
  };
  const Var<float> scores = input(kShape, 1.3, of_scores);
  // The biases of the distances -12 .. 11.
  const Var<float> bias = input({2, 24}, 0.7, of_bias);
  const Var<float> weights =
      MaskedSoftmax(scores, mask.mask, mask.positions, {bias, -12});
  Var<float> loss = Sum(weights * input(kShape, 2.1, false));
  if (twice) loss = loss + Sum(scores);
  tape.Backward(loss);
  const auto gradient = [](Var<float> x) {
    if (x.grad_data() == nullptr) return std::vector<float>();
    return std::vector<float>(x.grad_data(), x.grad_data() + x.size());
  };
  return {gradient(scores), gradient(bias)};
}

TEST(MaskedSoftmaxTest, AGradientOfABiasChangesNoBitOfOtherGradients) {
  for (const MaskCase& mask : Masks()) {
    const BiasedGradients both = GradientsWithBias(mask, true, true);
    EXPECT_EQ(both.scores, GradientsWithBias(mask, true, false).scores);
    EXPECT_EQ(both.bias, GradientsWithBias(mask, false, true).bias);
    const BiasedGradients twice = GradientsWithBias(mask, true, true, true);
    EXPECT_EQ(both.bias, twice.bias);
    std::vector<float> sums = both.scores;
    for (float& sum : sums) sum += 1;
    EXPECT_EQ(twice.scores, sums);
    // The gradient of a bias is the sum of the gradients of the scores at its
    // distance.
    for (int64_t head = 0; head < 2; ++head) {
      std::vector<float> expected(24);
      for (int64_t i = 0; i < kShape.size(); ++i) {
        if (i / 15 % 2 != head) continue;
        const int64_t distance = i % 5 - mask.positions.Offset(i / 5 % 3) + 12;
        expected[distance] += both.scores[i];
      }
      for (int64_t i = 0; i < 24; ++i) {
        EXPECT_EQ(both.bias[head * 24 + i], expected[i]) << i;
      }
    }
  }
}

TEST(MaskedSoftmaxTest, AgreesWithItsCompositionUnderEveryMask) {
  for (const MaskCase& mask : Masks()) {
    CheckAgainstReference(MakeFusedKernelCase(
        "weights", {{kShape, -3, 3}},
        [=](auto&, auto in) {
          return MaskedSoftmax(in[0], mask.mask, mask.positions);
        },
        [=](auto& tape, auto in) { return Reference(tape, in[0], mask); }));
    for (const int64_t width : {3, 50, 64, 65}) {
      CheckAgainstReference(MakeFusedKernelCase(
          "context", {{kShape, -3, 3}, {{2, 2, 5, width}}},
          [=](auto&, auto in) {
            return MaskedSoftmaxContext(in[0], mask.mask, in[1], mask.positions)
                .context;
          },
          [=](auto& tape, auto in) {
            return MatMul(Reference(tape, in[0], mask), in[1]);
          }));
    }
  }
}

TEST(MaskedSoftmaxTest, AgreesWithItsCompositionAtRaggedSizes) {
  for (const int64_t size : kRaggedSizes) {
    const auto fused = [](auto&, auto in) {
      return MaskedSoftmaxContext(in[0], {}, in[1]).context;
    };
    const auto reference = [](auto&, auto in) {
      auto e = Exp(in[0]);
      return MatMul(e / Sum(e, -1, /*keep=*/true), in[1]);
    };
    CheckAgainstReference(MakeFusedKernelCase(
        "keys", {{{1, 2, 3, size}}, {{1, 2, size, 2}}}, fused, reference));
    CheckAgainstReference(MakeFusedKernelCase(
        "queries", {{{1, 2, size, 3}}, {{1, 2, 3, 2}}}, fused, reference));
    CheckAgainstReference(MakeFusedKernelCase(
        "width", {{{1, 2, 3, 4}}, {{1, 2, 4, size}}}, fused, reference));
  }
}

// With several queries and narrow values, the context is computed by matrix
// products. The sizes are larger than packets and blocks.
TEST(MaskedSoftmaxTest, AgreesWithItsCompositionForMatrixProducts) {
  static constexpr int32_t kLengths[] = {5, 0, 3};
  const auto softmax = [](auto in, const Mask& mask) {
    return MatMul(MaskedSoftmax(in[0], mask), in[1]);
  };
  for (const Mask& mask :
       std::vector<Mask>{{}, {.key_lengths = kLengths}, {.causal = true}}) {
    for (const int64_t queries : {32, 33}) {
      const std::vector<TestInputSpec> inputs = {{{3, 2, queries, 5}, -3, 3},
                                                 {{3, 2, 5, 17}}};
      CheckAgainstReference(MakeFusedKernelCase(
          "context", inputs,
          [=](auto&, auto in) {
            return MaskedSoftmaxContext(in[0], mask, in[1]).context;
          },
          [=](auto&, auto in) { return softmax(in, mask); }));
      CheckAgainstReference(MakeFusedKernelCase(
          "weights and context", inputs,
          [=](auto&, auto in) {
            auto both = MaskedSoftmaxContext(in[0], mask, in[1]);
            return Sum(both.context) * Sum(both.weights * both.weights);
          },
          [=](auto&, auto in) {
            auto weights = MaskedSoftmax(in[0], mask);
            return Sum(softmax(in, mask)) * Sum(weights * weights);
          }));
    }
  }
}

TEST(MaskedSoftmaxTest, TheBatchChangesNoBitOfAnExample) {
  for (const int64_t queries : {1, 3, 40}) {
    Tape<float> tape;
    Var<float> scores = tape.Constant({3, 1, queries, 7});
    Var<float> values = tape.Constant({3, 1, 7, 18});
    for (Var<float> x : {scores, values}) {
      for (int64_t i = 0; i < x.size(); ++i) {
        x.data()[i] = std::sin(static_cast<float>(i));
      }
    }
    const auto all = MaskedSoftmaxContext(scores, {}, values);
    const auto last = MaskedSoftmaxContext(
        tape.Constant({1, 1, queries, 7},
                      scores.span().subspan(2 * queries * 7)),
        {}, tape.Constant({1, 1, 7, 18}, values.span().subspan(2 * 7 * 18)));
    EXPECT_EQ(all.context.span().subspan(2 * queries * 18),
              last.context.span());
    EXPECT_EQ(all.weights.span().subspan(2 * queries * 7), last.weights.span());
  }
}

TEST(MaskedSoftmaxTest, MaskedWeightsAndGradientsAreExactlyZero) {
  for (const MaskCase& mask : Masks()) {
    Tape<float> tape;
    Var<float> scores = tape.Input(kShape, std::vector<float>(60, 0.5f));
    // Masked scores must have no effect, whatever their values are.
    const Var<float> visible = Indicator(tape, mask);
    for (int64_t i = 0; i < scores.size(); ++i) {
      if (visible.data()[i] == 0) scores.data()[i] = 1e30f;
    }
    const Var<float> weights = MaskedSoftmax(scores, mask.mask, mask.positions);
    tape.Backward(Sum(weights * weights));
    for (int64_t i = 0; i < scores.size(); ++i) {
      const bool seen = visible.data()[i] != 0;
      EXPECT_EQ(weights.data()[i] > 0, seen) << i;
      if (!seen) {
        EXPECT_EQ(scores.grad_data()[i], 0) << i;
      }
    }
  }
}

// Masked keys must have weight 0. A published implementation gives masked keys
// the score 0 instead, which leaves them some weight.
TEST(MaskedSoftmaxTest, AMaskedValueReachesNoContext) {
  for (const int64_t width : {1, 4, 40}) {
    for (const MaskCase& mask : Masks()) {
      for (int64_t k = 0; k < 5; ++k) {
        Tape<float> tape;
        const Var<float> scores = tape.Full(kShape, 0.5f);
        Var<float> values = tape.Full({2, 2, 5, width}, 1.0f);
        for (int64_t source = 0; source < 4; ++source) {
          std::fill_n(values.data() + (source * 5 + k) * width, width, NAN);
        }
        const Var<float> context =
            MaskedSoftmaxContext(scores, mask.mask, values, mask.positions)
                .context;
        for (int64_t row = 0; row < 12; ++row) {
          const float* const first = context.data() + row * width;
          EXPECT_EQ(std::isnan(*first), Visible(mask, row / 6, row % 3, k))
              << "width " << width << ", row " << row << ", key " << k;
        }
      }
    }
  }
}

TEST(MaskedSoftmaxTest, MaskedKeysHaveWeightZero) {
  Tape<double> tape;
  const std::vector<int32_t> lengths = {2};
  const Var<double> scores = tape.Input({1, 1, 1, 4}, {0, std::log(3), 7, 8});
  EXPECT_THAT(
      MaskedSoftmax(scores, {.key_lengths = lengths}).span(),
      ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.75, 1e-15), 0, 0));
}

TEST(MaskedSoftmaxTest, LengthsBeyondTheKeysMaskNothing) {
  Tape<float> tape;
  const std::vector<int32_t> lengths = {9};
  EXPECT_THAT(
      MaskedSoftmax(tape.Full({1, 1, 1, 2}, 3), {.key_lengths = lengths})
          .span(),
      ElementsAre(0.5, 0.5));
}

TEST(MaskedSoftmaxTest, LargeScoresDoNotOverflow) {
  Tape<float> tape;
  EXPECT_THAT(
      MaskedSoftmax(tape.Input({1, 1, 1, 3}, {1000, 1000, -1000}), {}).span(),
      ElementsAre(0.5, 0.5, 0));
}

TEST(MaskedSoftmaxTest, ShiftedScoresGiveTheSameWeights) {
  Tape<double> tape;
  const std::vector<int32_t> lengths = {2};
  const Mask mask = {.key_lengths = lengths};
  const auto a = MaskedSoftmax(tape.Input({1, 1, 1, 3}, {1, 2, 4}), mask);
  const auto b =
      MaskedSoftmax(tape.Input({1, 1, 1, 3}, {-9999, -9998, 3}), mask);
  EXPECT_THAT(b.span(), ElementsAre(DoubleNear(a.data()[0], 1e-12),
                                    DoubleNear(a.data()[1], 1e-12), 0));
}

TEST(MaskedSoftmaxTest, MinusInfinityIsAMask) {
  Tape<double> tape;
  const Var<double> scores =
      tape.Input({1, 1, 2, 3}, {2, -kInfinity, 2,  //
                                -kInfinity, -kInfinity, -kInfinity});
  const Var<double> values = tape.Input({1, 1, 3, 1}, {2, 100, 6});
  const auto both = MaskedSoftmaxContext(scores, {}, values);
  EXPECT_THAT(both.weights.span(), ElementsAre(0.5, 0, 0.5, 0, 0, 0));
  EXPECT_THAT(both.context.span(), ElementsAre(4, 0));
  tape.Backward(Sum(both.context));
  EXPECT_THAT(std::vector<double>(scores.grad_data(), scores.grad_data() + 6),
              ElementsAre(-1, 0, 1, 0, 0, 0));
  EXPECT_THAT(std::vector<double>(values.grad_data(), values.grad_data() + 3),
              ElementsAre(0.5, 0, 0.5));
}

TEST(MaskedSoftmaxTest, ValuesMaskedByMinusInfinityMayBeNan) {
  for (const int64_t width : {1, 2, 33}) {
    for (const double second : {-kInfinity, 0.0}) {
      Tape<double> tape;
      const Var<double> scores =
          tape.Input({1, 1, 2, 3}, {0, -kInfinity, -kInfinity,  //
                                    0, -kInfinity, second});
      std::vector<double> numbers(3 * width, 2);
      std::fill_n(numbers.begin() + width, width, NAN);
      std::fill_n(numbers.begin() + 2 * width, width, kInfinity);
      const Var<double> values = tape.Input({1, 1, 3, width}, numbers);
      const auto context = MaskedSoftmaxContext(scores, {}, values).context;
      EXPECT_THAT(context.span().subspan(0, width), Each(2)) << width;
      // If `second` is 0, the second query sees the infinite value. If it is
      // -inf, the second query sees the same key as the first query.
      EXPECT_THAT(context.span().subspan(width),
                  Each(second == 0 ? kInfinity : 2))
          << width;
      if (second == 0) continue;
      tape.Backward(Sum(context));
      EXPECT_THAT(
          std::vector<double>(scores.grad_data(), scores.grad_data() + 6),
          Each(0))
          << width;
    }
  }
}

TEST(MaskedSoftmaxTest, ARowWithoutVisibleKeysIsZeroInBothPasses) {
  Tape<float> tape;
  const std::vector<int32_t> lengths = {0};
  const Var<float> scores = tape.Input({1, 1, 1, 2}, {1, 2});
  const Var<float> values = tape.Input({1, 1, 2, 1}, {1, 2});
  const auto both =
      MaskedSoftmaxContext(scores, {.key_lengths = lengths}, values);
  EXPECT_THAT(both.weights.span(), Each(0));
  EXPECT_THAT(both.context.span(), Each(0));
  tape.Backward(Sum(both.context) + Sum(both.weights));
  for (const Var<float>& x : {scores, values}) {
    EXPECT_EQ(x.grad_data()[0], 0);
    EXPECT_EQ(x.grad_data()[1], 0);
  }
}

TEST(MaskedSoftmaxTest, NoKeysGiveNoContext) {
  Tape<float> tape;
  const auto both = MaskedSoftmaxContext(tape.Constant({1, 1, 2, 0}), {},
                                         tape.Constant({1, 1, 0, 3}));
  EXPECT_EQ(both.weights.size(), 0);
  EXPECT_THAT(both.context.span(), Each(0));
}

TEST(MaskedSoftmaxTest, PaddingChangesNoBitOfARow) {
  for (const int64_t size : kRaggedSizes) {
    Tape<float> tape;
    Var<float> padded = tape.Constant({1, 1, 1, size + 20});
    for (int64_t i = 0; i < padded.size(); ++i) {
      padded.data()[i] = std::sin(static_cast<float>(i));
    }
    const std::vector<int32_t> lengths = {static_cast<int32_t>(size)};
    const Var<float> alone = MaskedSoftmax(
        tape.Constant({1, 1, 1, size}, padded.span().subspan(0, size)), {});
    const Var<float> cut = MaskedSoftmax(padded, {.key_lengths = lengths});
    for (int64_t i = 0; i < size; ++i) {
      ASSERT_EQ(alone.data()[i], cut.data()[i]) << size << ", " << i;
    }
  }
}

// Faults must be found even if no input needs gradients. Masked elements may be
// NaN.
TEST(MaskedSoftmaxTest, AFaultIsNamedWithoutGradients) {
  constexpr int32_t kOne[] = {1};
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  const Var<double> scores = tape.Constant({1, 1, 1, 2}, {0, NAN});
  const Var<double> values = tape.Constant({1, 1, 2, 2}, {1, 2, 3, 4});
  MaskedSoftmax(scores, {.key_lengths = kOne});
  MaskedSoftmaxContext(scores, {.key_lengths = kOne}, values);
  EXPECT_EQ(finder.fault(), "");
  MaskedSoftmax(scores, {});
  EXPECT_THAT(finder.fault(), HasSubstr("NaN in the value of MaskedSoftmax ("));
  finder.clear_fault();
  MaskedSoftmaxContext(scores, {}, values);
  EXPECT_THAT(finder.fault(),
              HasSubstr("NaN in the value of MaskedSoftmaxContext"));
}

TEST(MaskedSoftmaxDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  const std::vector<int32_t> three = {1, 2, 3};
  EXPECT_DEATH(MaskedSoftmax(tape.Full({2, 3, 4}, 0), {}), "\\[2, 3, 4\\]");
  EXPECT_DEATH(
      MaskedSoftmax(tape.Full({2, 1, 2, 4}, 0), {.key_lengths = three}),
      "3 key lengths for 2 examples of 2 queries");
  EXPECT_DEATH(MaskedSoftmaxContext(tape.Full({1, 1, 2, 3}, 0), {},
                                    tape.Full({1, 1, 4, 2}, 0)),
               "values");
}

}  // namespace
}  // namespace regard
