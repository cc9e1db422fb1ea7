#include "attention/kernels/scaled_dot_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/inner_form.h"
#include "attention/kernels/masked_softmax.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "autodiff/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;

std::vector<float> Waves(int64_t count, double salt) {
  std::vector<float> waves(static_cast<size_t>(count));
  for (size_t i = 0; i < waves.size(); ++i) {
    waves[i] =
        static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + salt));
  }
  return waves;
}

// Optional arguments of ScaledDotAttention().
template <typename T>
struct Options {
  DistanceBias<T> bias = {};
  T dropout = T(0);
  int64_t heads_side_by_side = 0;
};

template <typename T>
Var<T> Attend(Var<T> queries, Var<T> keys, Var<T> values, const Mask& mask,
              std::type_identity_t<T> scale, const Positions& positions = {},
              const std::type_identity_t<Options<T>>& options = {}) {
  return ScaledDotAttention({queries, keys, scale, {}, {}, options.bias},
                            values, mask, positions, options.dropout,
                            options.heads_side_by_side);
}

// A mask, and the positions of its queries and keys.
struct MaskCase {
  Mask mask;
  Positions positions = {};
};

// Masks of every kind for 2 examples.
struct Masks {
  Masks(int64_t queries, int64_t keys)
      : per_example{static_cast<int32_t>(keys), 1} {
    for (int64_t row = 0; row < 2 * queries; ++row) {
      per_query.push_back(static_cast<int32_t>((row * 5) % (keys + 1)));
    }
    for (int64_t i = 0; i < 2 * queries * keys; ++i) {
      dense.push_back(i * 7 % 3 != 0 || i / keys % 4 == 2 ? 1 : 0);
    }
    // The last query sees no key.
    std::fill(dense.end() - keys, dense.end(), uint8_t{0});
  }

  std::vector<MaskCase> All() const {
    return {{},
            {{.key_lengths = per_example}},
            {{.key_lengths = per_query}},
            {{.causal = true}},
            {{.causal = true}, {.first_query = 3}},
            {{.causal = true}, {.first_query = 4, .query_step = 0}},
            {{.window = 2}, {.first_query = 5, .first_key = 3}},
            {{.causal = true, .window = 130}, {.first_query = 200}},
            {{.dense = dense}},
            {{.key_lengths = per_query, .window = 70, .dense = dense}},
            {{.key_lengths = per_query, .causal = true, .dense = dense}}};
  }

  std::vector<int32_t> per_example;
  std::vector<int32_t> per_query;
  std::vector<uint8_t> dense;
};

template <typename T>
Var<T> Reference(Var<T> queries, Var<T> keys, Var<T> values,
                 const MaskCase& mask, double scale,
                 const Options<T>& options = {}) {
  const Var<T> scores =
      MatMul(queries, keys, {.b = true}) * static_cast<T>(scale);
  const Var<T> weights =
      MaskedSoftmax(scores, mask.mask, mask.positions, options.bias);
  return MatMul(Dropout(weights, options.dropout, "weights"), values);
}

void CheckAgainstReference(int64_t queries, int64_t keys, int64_t width,
                           int64_t value_width) {
  const Masks masks(queries, keys);
  for (const MaskCase& mask : masks.All()) {
    CheckAgainstReference(MakeFusedKernelCase(
        std::to_string(queries) + " queries, " + std::to_string(keys) + " keys",
        {{{2, 2, queries, width}},
         {{2, 2, keys, width}},
         {{2, 2, keys, value_width}}},
        [=](auto&, auto in) {
          return Attend(in[0], in[1], in[2], mask.mask, 0.7, mask.positions);
        },
        [=](auto&, auto in) {
          return Reference(in[0], in[1], in[2], mask, 0.7);
        }));
  }
}

// Compares the kernel with the reference, with a bias for every distance. Both
// drop the same weights.
void CheckOptions(int64_t queries, int64_t keys, double dropout) {
  const Masks masks(queries, keys);
  for (const MaskCase& mask : masks.All()) {
    const DistanceRange range =
        DistanceRange::Of(mask.positions, queries, keys);
    const auto options = [=]<typename T>(Tape<T>& tape, Var<T> bias) {
      tape.set_training(true);
      return Options<T>{{bias, range.lowest}, static_cast<T>(dropout)};
    };  // NOLINT(readability/braces)
    CheckAgainstReference(MakeFusedKernelCase(
        std::to_string(queries) + " queries, dropout",
        {{{2, 2, queries, 3}},
         {{2, 2, keys, 3}},
         {{2, 2, keys, 2}},
         {{2, range.count}}},
        [=](auto& tape, auto in) {
          const NameScope scope(tape, "attention");
          return Attend(in[0], in[1], in[2], mask.mask, 0.7, mask.positions,
                        options(tape, in[3]));
        },
        [=](auto& tape, auto in) {
          const NameScope scope(tape, "attention");
          return Reference(in[0], in[1], in[2], mask, 0.7,
                           options(tape, in[3]));
        }));
  }
}

TEST(ScaledDotAttentionTest, TakesABiasAndDropout) {
  for (const double dropout : {0.0, 0.4}) {
    CheckOptions(1, 5, dropout);
    CheckOptions(7, 3, dropout);
    CheckOptions(130, 259, dropout);
  }
}

TEST(ScaledDotAttentionTest, AgreesWithScoresSoftmaxAndContext) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(size, 5, 3, 2);
    CheckAgainstReference(3, size, 3, 2);
    CheckAgainstReference(3, 5, size, 2);
    CheckAgainstReference(3, 5, 3, size);
  }
}

// The sizes exceed a block, which has 128 queries and 256 keys.
TEST(ScaledDotAttentionTest, AgreesAcrossBlocks) {
  CheckAgainstReference(129, 257, 4, 3);
  CheckAgainstReference(257, 513, 2, 2);
}

// [batch, heads, rows, width] -> [batch, rows, heads * width].
template <typename T>
Var<T> SideBySide(Var<T> x) {
  return Permute(x, {0, 2, 1, 3})
      .Reshape({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

// 4 query heads share 2 key heads. Values that some masks hide are NaN. Both
// layouts must give the same bits.
TEST(ScaledDotAttentionTest, HeadsSideBySideHaveTheSameBits) {
  const auto bits = [](absl::Span<const float> x) {
    std::vector<uint32_t> bits;
    for (const float number : x) {
      bits.push_back(std::bit_cast<uint32_t>(number));
    }
    return bits;
  };
  const std::pair<int64_t, int64_t> sizes[] = {{1, 5}, {7, 3}, {130, 259}};
  for (const auto& [queries, keys] : sizes) {
    const Masks masks(queries, keys);
    for (const MaskCase& mask : masks.All()) {
      std::vector<std::vector<uint32_t>> found[2];
      for (const int64_t heads : {0, 4}) {
        Tape<float> tape;
        tape.set_training(true);
        const Var<float> in[] = {
            tape.Input({2, 4, queries, 3}, Waves(2 * 4 * queries * 3, 0)),
            tape.Input({2, 2, keys, 3}, Waves(2 * 2 * keys * 3, 1)),
            tape.Input({2, 2, keys, 2}, Waves(2 * 2 * keys * 2, 2))};
        in[2].span().back() = std::numeric_limits<float>::quiet_NaN();
        const auto read = [&](int i) {
          return heads > 0 ? SideBySide(in[i]) : in[i];
        };
        Var<float> context =
            Attend(read(0), read(1), read(2), mask.mask, 0.7f, mask.positions,
                   {.dropout = 0.3f, .heads_side_by_side = heads});
        if (heads == 0) context = SideBySide(context);
        tape.Backward(Sum(
            context * tape.Input(context.shape(), Waves(context.size(), 3))));
        auto& of = found[heads / 4];
        of.push_back(bits(context.span()));
        for (const Var<float>& x : in) {
          of.push_back(bits({x.grad_data(), static_cast<size_t>(x.size())}));
        }
      }
      EXPECT_EQ(found[0], found[1]) << queries << " queries";
    }
  }
}

std::vector<GradientCase> Cases() {
  static const Masks* const masks = new Masks(3, 4);
  std::vector<GradientCase> cases;
  for (const MaskCase& mask : masks->All()) {
    cases.push_back(MakeCase(
        "ScaledDotAttention", "a mask",
        {{{2, 1, 3, 2}}, {{2, 1, 4, 2}}, {{2, 1, 4, 5}}}, [=](auto&, auto in) {
          return Attend(in[0], in[1], in[2], mask.mask, 1.5, mask.positions);
        }));
  }
  cases.push_back(MakeCase(
      "ScaledDotAttention", "bias and dropout",
      {{{2, 2, 3, 2}}, {{2, 2, 4, 2}}, {{2, 2, 4, 5}}, {{2, 6}}},
      [](auto& tape, auto in) {
        tape.set_training(true);
        return Attend(in[0], in[1], in[2], {}, 1.5, {}, {{in[3], -2}, 0.3});
      }));
  cases.push_back(
      MakeCase("ScaledDotAttention", "heads side by side on one key head",
               {{{2, 3, 4}}, {{2, 5, 2}}, {{2, 5, 3}}}, [](auto&, auto in) {
                 return Attend(in[0], in[1], in[2], {}, 1.5, {},
                               {.heads_side_by_side = 2});
               }));
  cases.push_back(MakeCase(
      "ScaledDotAttention", "one shape",
      {{{1, 2, 3, 3}}, {{1, 2, 3, 3}}, {{1, 2, 3, 3}}},
      [](auto&, auto in) { return Attend(in[0], in[1], in[2], {}, 1); }));
  return cases;
}

TEST(ScaledDotAttentionTest, Gradients) { CheckGradients(Cases()); }

// A worked example of width 3. Its scores are divided by sqrt(3).
TEST(ScaledDotAttentionTest, IsTheWorkedExample) {
  Tape<double> tape;
  const Var<double> context =
      Attend(tape.Input({1, 1, 3, 3}, {1, 0, 2, 2, 2, 2, 2, 1, 3}),
             tape.Input({1, 1, 3, 3}, {0, 1, 1, 4, 4, 0, 2, 3, 1}),
             tape.Input({1, 1, 3, 3}, {1, 2, 3, 2, 8, 0, 2, 6, 3}), {},
             1 / std::sqrt(3.0));
  const double expected[] = {1.8638742024, 6.3193710122, 1.7041886963,
                             1.9991095526, 7.8141235049, .2734720584,
                             1.9925551076, 7.4796355918, .7358772581};
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(context.data()[i], expected[i], 1e-10) << i;
  }
}

TEST(ScaledDotAttentionTest, LargeScoresDoNotOverflow) {
  Tape<float> tape;
  const Var<float> context =
      Attend(tape.Input({1, 1, 1, 1}, {1000}),
             tape.Input({1, 1, 3, 1}, {1000, 1000, -1000}),
             tape.Input({1, 1, 3, 1}, {2, 4, 9}), {}, 1);
  EXPECT_THAT(context.span(), Each(3));
}

TEST(ScaledDotAttentionTest, AQueryWithoutVisibleKeysIsZeroInBothPasses) {
  Tape<float> tape;
  const std::vector<int32_t> lengths = {0};
  const Var<float> q = tape.Input({1, 1, 2, 1}, {1, 2});
  const Var<float> k = tape.Input({1, 1, 2, 1}, {1, 2});
  const Var<float> v = tape.Input({1, 1, 2, 1}, {1, 2});
  const Var<float> context = Attend(q, k, v, {.key_lengths = lengths}, 1);
  EXPECT_THAT(context.span(), Each(0));
  tape.Backward(Sum(context));
  for (const Var<float>& x : {q, k, v}) {
    EXPECT_EQ(x.grad_data()[0], 0);
    EXPECT_EQ(x.grad_data()[1], 0);
  }
}

TEST(ScaledDotAttentionTest, ValuesBeyondTheLengthAreNotRead) {
  Tape<float> tape;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int32_t> lengths = {1};
  const Var<float> q = tape.Input({1, 1, 1, 1}, {1});
  const Var<float> k = tape.Input({1, 1, 2, 1}, {1, nan});
  const Var<float> v = tape.Input({1, 1, 2, 1}, {5, nan});
  const Var<float> context = Attend(q, k, v, {.key_lengths = lengths}, 1);
  EXPECT_THAT(context.span(), Each(5));
  tape.Backward(Sum(context));
  EXPECT_EQ(k.grad_data()[1], 0);
  EXPECT_EQ(v.grad_data()[1], 0);
}

TEST(ScaledDotAttentionTest, BitsDoNotDependOnPaddingOrNeighbours) {
  constexpr int64_t kKeys = 70;
  constexpr int64_t kWidth = 5;
  for (const int64_t length : kRaggedSizes) {
    const std::vector<int32_t> lengths = {static_cast<int32_t>(length), 1};
    Tape<float> tape;
    // Compares example 0 of a padded batch of two with the same example without
    // padding.
    Var<float> q = tape.Constant({2, 1, 3, kWidth});
    Var<float> k = tape.Constant({2, 1, kKeys, kWidth});
    for (int64_t i = 0; i < q.size(); ++i) q.data()[i] = std::sin(1.0 * i);
    for (int64_t i = 0; i < k.size(); ++i) k.data()[i] = std::cos(1.0 * i);
    const Var<float> padded = Attend(q, k, k, {.key_lengths = lengths}, 1);
    const Var<float> alone_k = tape.Constant(
        {1, 1, length, kWidth}, k.span().subspan(0, length * kWidth));
    const Var<float> alone = Attend(
        tape.Constant({1, 1, 3, kWidth}, q.span().subspan(0, 3 * kWidth)),
        alone_k, alone_k, {}, 1);
    for (int64_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(alone.data()[i], padded.data()[i]) << length << ", " << i;
    }
  }
}

TEST(ScaledDotAttentionDeathTest, NeedsKeysAndValuesOfOneLength) {
  Tape<float> tape;
  const Var<float> q = tape.Full({1, 1, 2, 3}, 0);
  const Var<float> k = tape.Full({1, 1, 4, 3}, 0);
  EXPECT_DEATH(Attend(q, k, tape.Full({1, 1, 5, 3}, 0), {}, 1), "values");
  EXPECT_DEATH(Attend(q, tape.Full({1, 1, 4, 2}, 0), k, {}, 1), "keys");
  const Var<float> three = tape.Full({1, 4, 3}, 0);
  EXPECT_DEATH(
      Attend(three, three, three, {}, 1, {}, {.heads_side_by_side = 2}),
      "2 heads side by side");
}

TEST(ScaledDotAttentionTest, ThreadsGiveTheSameBits) {
  const int64_t batch = 2, heads = 5, queries = 40, keys = 300, width = 16;
  std::vector<float> values = Waves(batch * heads * keys * width, 3);
  // The last value is masked for most queries, and must not reach their
  // contexts.
  values.back() = std::numeric_limits<float>::infinity();
  Tape<float> tape;
  const Var<float> q = tape.Constant({batch, heads, queries, width},
                                     Waves(batch * heads * queries * width, 1));
  const Var<float> k = tape.Constant({batch, heads, keys, width},
                                     Waves(batch * heads * keys * width, 2));
  const Var<float> v = tape.Constant({batch, heads, keys, width}, values);
  const auto compute = [&](const MaskCase& c) {
    const absl::Span<const float> context =
        Attend(q, k, v, c.mask, 0.5F, c.positions).span();
    std::vector<uint32_t> bits;
    for (const float x : context) bits.push_back(std::bit_cast<uint32_t>(x));
    return bits;
  };
  for (const MaskCase& c :
       {MaskCase(), MaskCase{{.causal = true}, {.first_query = 261}}}) {
    const std::vector<uint32_t> expected = compute(c);
    // With more threads than heads, some threads are idle.
    for (const int threads : {1, 2, 3, 11}) {
      WorkerPool pool(threads);
      const InferenceThreads scope(pool);
      EXPECT_EQ(compute(c), expected) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace regard
