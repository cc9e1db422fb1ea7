#include "attention/mixers/decayed_products.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/cumulative_sum.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns queries and keys, and the logarithm of a decay unless `decay_width`
// is 0.
std::vector<TestInputSpec> Inputs(int64_t time, int64_t width,
                                  int64_t decay_width) {
  const Shape shape = {2, 3, time, width};
  std::vector<TestInputSpec> inputs = {{shape}, {shape}};
  if (decay_width > 0) inputs.push_back({shape.With(3, decay_width), -2, 0});
  return inputs;
}

template <typename T>
Var<T> Computed(absl::Span<const Var<T>> in) {
  return DecayedProducts(in[0], in[1], in.size() > 2 ? in[2] : Var<T>());
}

// Evaluates the formula of DecayedProducts() with an array [batch, heads, time,
// time, key width].
template <typename T>
Var<T> Composed(Tape<T>& tape, absl::Span<const Var<T>> in) {
  const Shape shape = in[0].shape();
  const Shape of_queries = shape.Insert(3, 1);
  const Shape of_keys = shape.Insert(2, 1);
  Var<T> terms = in[0].Reshape(of_queries) * in[1].Reshape(of_keys);
  const Var<T> visible = tape.Full({shape[2], shape[2], 1}, 0);
  for (int64_t t = 0; t < shape[2]; ++t) {
    for (int64_t s = 0; s <= t; ++s) visible.at(t * shape[2] + s, 0) = 1;
  }
  if (in.size() > 2) {
    const Var<T> sums = CumulativeSum(in[2], -2);
    const int64_t width = sums.dim(3);
    terms = terms * Exp(Where(visible,
                              sums.Reshape(of_queries.With(4, width)) -
                                  sums.Reshape(of_keys.With(4, width)),
                              tape.Full({}, 0)));
  }
  return Sum(Where(visible, terms, tape.Full({}, 0)), -1);
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const int64_t time : {0, 1, 5, 17, 35}) {
    for (const int64_t decay_width : {0, 1, 3}) {
      cases.push_back(MakeCase(
          "DecayedProducts",
          std::to_string(time) + " rows, decay " + std::to_string(decay_width),
          Inputs(time, 3, decay_width),
          [](auto&, auto in) { return Computed(in); }));
    }
  }
  return cases;
}

TEST(DecayedProductsTest, Gradients) { CheckGradients(Cases()); }

TEST(DecayedProductsTest, AgreesWithTheFormula) {
  for (const int64_t time : kRaggedSizes) {
    for (const int64_t decay_width : {0, 1, 5}) {
      CheckAgainstReference(MakeFusedKernelCase(
          std::to_string(time) + " rows, decay " + std::to_string(decay_width),
          Inputs(time, 5, decay_width),
          [](auto&, auto in) { return Computed(in); },
          [](auto& tape, auto in) { return Composed(tape, in); }));
    }
  }
}

TEST(DecayedProductsTest, DecaysWithTheDistance) {
  Tape<double> tape;
  const Var<double> queries = tape.Input({1, 1, 3, 1}, {1, 2, 3});
  const Var<double> keys = tape.Input({1, 1, 3, 1}, {5, 7, 11});
  EXPECT_THAT(DecayedProducts(queries, keys, {}).span(),
              ElementsAre(5, 0, 0, 10, 14, 0, 15, 21, 33));
  // The decays are 0.1, 0.5 and 0.25. The first decay must have no effect.
  const Var<double> decay =
      tape.Input({1, 1, 3, 1}, {std::log(.1), std::log(.5), std::log(.25)});
  EXPECT_THAT(DecayedProducts(queries, keys, decay).span(),
              ElementsAre(5, 0, 0, 5, 14, 0, DoubleNear(15 / 8., 1e-14),
                          DoubleNear(21 / 4., 1e-14), 33));
}

TEST(DecayedProductsTest, EachChannelHasItsDecay) {
  Tape<double> tape;
  const Var<double> ones = tape.Full({1, 1, 2, 2}, 1);
  const Var<double> decay =
      tape.Input({1, 1, 2, 2}, {0, 0, std::log(.5), std::log(.125)});
  EXPECT_THAT(DecayedProducts(ones, ones, decay).span(),
              ElementsAre(2, 0, DoubleNear(.625, 1e-15), 2));
}

// The decay between neighbors must be accurate even after many positions.
// Computed as a difference of two long sums, it would lose all digits.
TEST(DecayedProductsTest, LongSumsCostNoPrecision) {
  constexpr int64_t kTime = 600;
  for (const int64_t width : {1, 2}) {
    Tape<float> tape;
    const Var<float> ones = tape.Full({1, 1, kTime, 2}, 1);
    const Var<float> products =
        DecayedProducts(ones, ones, tape.Full({1, 1, kTime, width}, -1000.f));
    const Var<float> small =
        DecayedProducts(ones, ones, tape.Full({1, 1, kTime, width}, -1e-3f));
    for (int64_t t = 1; t < kTime; ++t) {
      EXPECT_EQ(products.at(t, t), 2);
      EXPECT_EQ(products.at(t, t - 1), 0);
      EXPECT_NEAR(small.at(t, t - 1), 2 * std::exp(-1e-3), 1e-6);
      EXPECT_NEAR(small.at(t, 0), 2 * std::exp(-1e-3 * t), 3e-5);
    }
  }
}

TEST(DecayedProductsTest, AnEmptyInputHasNoProducts) {
  Tape<float> tape;
  const Var<float> none = tape.Constant({2, 3, 0, 4});
  EXPECT_THAT(DecayedProducts(none, none, none).span(), IsEmpty());
}

TEST(DecayedProductsDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  const Var<float> x = tape.Full({1, 2, 3, 4}, 0);
  EXPECT_DEATH(DecayedProducts(x, tape.Full({1, 2, 3, 5}, 0), {}),
               "keys \\[1, 2, 3, 5\\]");
  EXPECT_DEATH(DecayedProducts(x, x, tape.Full({1, 2, 3, 2}, 0)),
               "log decay \\[1, 2, 3, 2\\]");
}

}  // namespace
}  // namespace regard
