#include "autodiff/ops/linear.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](const char* label, const Shape& a, const Shape& b,
                       Transpositions transposed) {
    cases.push_back(MakeCase("MatMul", label, {{a}, {b}}, [=](auto&, auto in) {
      return MatMul(in[0], in[1], transposed);
    }));
  };
  add("matrices", {3, 5}, {5, 17}, {});
  add("squares", {4, 4}, {4, 4}, {});
  add("a transposed", {5, 3}, {5, 7}, {true, false});
  add("b transposed", {3, 5}, {7, 5}, {false, true});
  add("both transposed", {5, 3}, {7, 5}, {true, true});
  add("rows folded", {2, 3, 5}, {5, 4}, {});
  add("rows folded, b transposed", {2, 3, 5}, {4, 5}, {false, true});
  add("batches", {2, 3, 4}, {2, 4, 5}, {});
  add("batches, transposed", {2, 4, 3}, {2, 5, 4}, {true, true});
  add("batches of one matrix a", {3, 4}, {2, 4, 5}, {});
  add("batches of one matrix b, a transposed", {2, 4, 3}, {4, 5}, {true});
  add("batches that broadcast", {2, 1, 3, 4}, {3, 4, 2}, {});
  add("one element", {1, 1}, {1, 1}, {});
  add("nothing inside", {2, 0}, {0, 3}, {});
  add("no rows", {0, 2}, {2, 3}, {});
  const auto affine = [](auto&, auto in) {
    return Linear(in[0], in[1], in[2]);
  };
  cases.push_back(
      MakeCase("Linear", "biased", {{{2, 3, 5}}, {{17, 5}}, {{17}}}, affine));
  cases.push_back(
      MakeCase("Linear", "a vector", {{{5}}, {{3, 5}}, {{3}}}, affine));
  cases.push_back(
      MakeCase("Linear", "no rows", {{{0, 5}}, {{3, 5}}, {{3}}}, affine));
  cases.push_back(
      MakeCase("Linear", "unbiased", {{{4, 4}}, {{4, 4}}},
               [](auto&, auto in) { return Linear(in[0], in[1], {}); }));
  cases.push_back(MakeCase("Linear", "added to rows",
                           {{{2, 3, 5}}, {{7, 5}}, {{2, 3, 7}}}, affine));
  // The second product of few rows and its gradient read the state that the
  // first product keeps.
  cases.push_back(
      MakeCase("Linear", "three steps", {{{3, 5}}, {{5, 5}}, {{5}}},
               []<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
                 const Var<T> first = Linear(in[0], in[1], in[2]);
                 const Var<T> second = Linear(first, in[1], first);
                 return Linear(second, in[1], Var<T>());
               }));
  cases.push_back(MakeCase("Linear", "more rows than a piece of the queue",
                           {{{300, 2}}, {{3, 2}}, {{3}}}, affine));
  const auto columns = [](int64_t first, int64_t count) {
    return [=](auto&, auto in) {
      return Linear(in[0], WeightColumns(in[1], first, count), in[2]);
    };
  };
  cases.push_back(MakeCase("Linear", "some columns",
                           {{{2, 3}}, {{4, 5}}, {{4}}}, columns(1, 3)));
  cases.push_back(MakeCase("Linear", "all columns", {{{2, 5}}, {{4, 5}}, {{4}}},
                           columns(0, 5)));
  cases.push_back(MakeCase("Linear", "no columns", {{{2, 0}}, {{4, 5}}, {{4}}},
                           columns(5, 0)));
  cases.push_back(MakeCase("Linear", "many rows times some columns",
                           {{{260, 2}}, {{3, 4}}, {{3}}}, columns(2, 2)));
  const auto parts = [](int64_t second) {
    return [=](auto&, auto in) {
      return Linear(in[1], WeightColumns(in[2], second, 3),
                    Linear(in[0], WeightColumns(in[2], 0, 2), in[3]));
    };
  };
  const std::vector<TestInputSpec> two_parts = {
      {{2, 2}}, {{2, 3}}, {{4, 5}}, {{4}}};
  cases.push_back(MakeCase("Linear", "disjoint columns", two_parts, parts(2)));
  cases.push_back(
      MakeCase("Linear", "overlapping columns", two_parts, parts(1)));
  // A computed weight has no packed copy and no queue, unlike a leaf.
  cases.push_back(
      MakeCase("Linear", "a weight that is computed",
               {{{2, 3}}, {{4, 5}}, {{4}}}, [](auto&, auto in) {
                 return Linear(in[0], WeightColumns(Tanh(in[1]), 1, 3), in[2]);
               }));
  return cases;
}

TEST(LinearTest, Gradients) { CheckGradients(Cases()); }

TEST(LinearTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeFusedKernelCase(
        "Linear", {{{3, size}}, {{size, size}}, {{size}}},
        [](auto&, auto in) { return Linear(in[0], in[1], in[2]); },
        [](auto&, auto in) {
          return MatMul(in[0], Transpose(in[1])) + in[2];
        }));
  }
}

TEST(MatMulTest, MultipliesRowsByColumns) {
  Tape<double> tape;
  Var<double> a = tape.Input({2, 2}, {1, 2, 3, 4});
  Var<double> b = tape.Input({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(MatMul(a, b).span(), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(MatMul(a, b, {true, false}).span(), ElementsAre(26, 30, 38, 44));
  EXPECT_THAT(MatMul(a, b, {false, true}).span(), ElementsAre(17, 23, 39, 53));
}

TEST(MatMulTest, PairsBatches) {
  Tape<double> tape;
  Var<double> a = tape.Input({2, 1, 2}, {1, 2, 3, 4});
  Var<double> b = tape.Input({2, 2, 1}, {5, 6, 7, 8});
  Var<double> y = MatMul(a, b);
  EXPECT_EQ(y.shape(), Shape({2, 1, 1}));
  EXPECT_THAT(y.span(), ElementsAre(17, 53));
}

TEST(LinearValueTest, TakesTheWeightAsOutByIn) {
  Tape<double> tape;
  Var<double> x = tape.Input({1, 2}, {1, 2});
  Var<double> weight = tape.Input({3, 2}, {1, 0, 0, 1, 1, 1});
  Var<double> bias = tape.Input({3}, {10, 20, 30});
  EXPECT_THAT(Linear(x, weight, bias).span(), ElementsAre(11, 22, 33));
}

TEST(MatMulTest, BitsOfARowDoNotDependOnTheRowsAround) {
  for (const int64_t n : kRaggedSizes) {
    Tape<float> tape;
    const int64_t k = 37;
    Var<float> a = tape.Constant({33, k});
    Var<float> b = tape.Constant({k, n});
    for (int64_t i = 0; i < a.size(); ++i) a.data()[i] = 1.f / (3 + i);
    for (int64_t i = 0; i < b.size(); ++i) b.data()[i] = 1.f / (7 + i);
    Var<float> all = MatMul(a, b);
    for (int64_t row = 0; row < 33; ++row) {
      Var<float> one = MatMul(Slice(a, 0, row, 1), b);
      ASSERT_EQ(
          std::memcmp(one.data(), all.data() + row * n, n * sizeof(float)), 0)
          << "row " << row << " of " << n << " columns";
    }
  }
}

TEST(LinearValueTest, AddsRowsOrABias) {
  Tape<double> tape;
  Var<double> x = tape.Input({2, 1}, {1, 2});
  Var<double> weight = tape.Input({2, 1}, {3, 4});
  Var<double> rows = tape.Input({2, 2}, {10, 20, 30, 40});
  EXPECT_THAT(Linear(x, weight, rows).span(), ElementsAre(13, 24, 36, 48));
  EXPECT_THAT(Linear(x, weight, tape.Input({2}, {10, 20})).span(),
              ElementsAre(13, 24, 16, 28));
}

TEST(LinearValueTest, MultipliesWithSomeColumns) {
  Tape<double> tape;
  Var<double> x = tape.Input({1, 2}, {1, 10});
  Var<double> weight = tape.Input({2, 3}, {1, 2, 3, 4, 5, 6});
  const Var<double> y = Linear(x, WeightColumns(weight, 1, 2), {});
  EXPECT_THAT(y.span(), ElementsAre(32, 65));
  if (auto d = y.grad_ref()) d.AddEach([](int64_t i) { return 1.0 + i; });
  tape.BackwardTo({});
  EXPECT_THAT(absl::MakeConstSpan(weight.grad_data(), 6),
              ElementsAre(0, 1, 10, 0, 2, 20));
  EXPECT_THAT(absl::MakeConstSpan(x.grad_data(), 2), ElementsAre(12, 15));
}

TEST(LinearDeathTest, AddendsAndColumnsThatDoNotFit) {
  Tape<double> tape;
  Var<double> x = tape.Full({2, 3}, 1);
  Var<double> weight = tape.Full({4, 3}, 1);
  EXPECT_DEATH(Linear(x, weight, tape.Full({2}, 0)),
               "Linear adds \\[2\\] to \\[2, 4\\]");
  EXPECT_DEATH(Linear(x, weight, tape.Full({1, 4}, 0)), "Linear adds");
  EXPECT_DEATH(Linear(x, tape.Full({3}, 1), {}), "with weight \\[3\\]");
  EXPECT_DEATH(Linear(x, WeightColumns(weight, 1, 3), {}),
               "3 columns from 1 of a weight \\[4, 3\\]");
  EXPECT_DEATH(Linear(x, WeightColumns(weight, -1, 3), {}), "columns from -1");
  EXPECT_DEATH(Linear(x, WeightColumns(weight, 0, 2), {}),
               "Linear of \\[2, 3\\] with weight \\[4, 2\\]");
}

TEST(LinearDeathTest, InnerExtentsThatDiffer) {
  Tape<double> tape;
  Var<double> a = tape.Full({2, 3}, 1);
  EXPECT_DEATH(MatMul(a, a), "inner extents in MatMul of \\[2, 3\\]");
  EXPECT_DEATH(MatMul(a, tape.Full({3}, 1)),
               "MatMul of \\[2, 3\\] and \\[3\\]");
  EXPECT_DEATH(Linear(a, tape.Full({2, 2}, 1), {}), "Linear of \\[2, 3\\]");
}

}  // namespace
}  // namespace regard
