#include "autodiff/ops/loss.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/linear.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Returns targets below `classes`. Every third target is ignored.
std::vector<int32_t> Targets(int64_t rows, int64_t classes) {
  std::vector<int32_t> targets(rows);
  for (int64_t i = 0; i < rows; ++i) {
    targets[i] = i % 3 == 1 ? -1 : static_cast<int32_t>(7 * i % classes);
  }
  return targets;
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const double smoothing : {0.0, 0.1}) {
    for (const Shape& shape :
         std::vector<Shape>{{5}, {1, 1}, {4, 17}, {2, 3, 5}, {0, 3}}) {
      const auto targets = Targets(shape.rows(), shape.cols());
      cases.push_back(MakeCase("CrossEntropy", shape.ToString(),
                               {{shape, -3, 3}}, [=](auto&, auto in) {
                                 return CrossEntropy(in[0], targets,
                                                     {smoothing});
                               }));
      const int64_t classes = 7;
      const auto words = Targets(shape.rows(), classes);
      cases.push_back(MakeCase(
          "LinearCrossEntropy", shape.ToString(),
          {{shape}, {{classes, shape.cols()}}, {{classes}}},
          [=](auto&, auto in) {
            return LinearCrossEntropy(in[0], in[1], in[2], words, {smoothing});
          }));
    }
  }
  for (const Shape& shape : std::vector<Shape>{{}, {3, 17}}) {
    cases.push_back(
        MakeCase("SquaredError", shape.ToString(), {{shape}, {shape}},
                 [](auto&, auto in) { return SquaredError(in[0], in[1]); }));
  }
  return cases;
}

TEST(LossTest, Gradients) { CheckGradients(Cases()); }

TEST(LinearCrossEntropyTest, AgreesWithItsComposition) {
  for (const int64_t size : kRaggedSizes) {
    for (const int64_t rows : {1, 63, 64, 65, 130}) {
      const auto targets = Targets(rows, size);
      CheckAgainstReference(MakeFusedKernelCase(
          "LinearCrossEntropy", {{{rows, 5}}, {{size, 5}}, {{size}}},
          [=](auto&, auto in) {
            return LinearCrossEntropy(in[0], in[1], in[2], targets, {0.1});
          },
          [=](auto&, auto in) {
            return CrossEntropy(Linear(in[0], in[1], in[2]), targets, {0.1});
          }));
    }
  }
}

// Ignored rows of NaN must not change the gradients of the other rows. The
// other rows lie in two blocks, with a block of only ignored rows between them.
TEST(LinearCrossEntropyTest, IgnoredRowsTakePartInNoProduct) {
  constexpr int64_t kRows = 768;
  constexpr int64_t kIn = 5;
  constexpr int64_t kClasses = 17;
  std::vector<float> with;
  std::vector<float> without;
  std::vector<int32_t> targets;
  std::vector<int32_t> counted;
  for (int64_t row = 0; row < kRows; ++row) {
    const bool counts = row < 256 || (row >= 512 && row % 3 != 0);
    targets.push_back(counts ? static_cast<int32_t>(row % kClasses) : -1);
    if (counts) counted.push_back(targets.back());
    for (int64_t i = 0; i < kIn; ++i) {
      const auto x = static_cast<float>(std::sin(row * kIn + i));
      with.push_back(counts ? x : std::nanf(""));
      if (counts) without.push_back(x);
    }
  }
  const auto run = [&](const std::vector<float>& rows,
                       const std::vector<int32_t>& wanted) {
    Tape<float> tape;
    std::vector<float> values(kClasses * kIn);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(std::cos(i));
    }
    const Var<float> x =
        tape.Input({static_cast<int64_t>(wanted.size()), kIn}, rows);
    const Var<float> weight = tape.Input({kClasses, kIn}, values);
    const Var<float> bias = tape.Input({kClasses}, {values.data(), kClasses});
    const Var<float> loss =
        LinearCrossEntropy(x, weight, bias, wanted, {.label_smoothing = 0.1});
    tape.Backward(loss);
    std::vector<float> gradients;
    for (const Var<float>& input : {weight, bias}) {
      gradients.insert(gradients.end(), input.grad_data(),
                       input.grad_data() + input.size());
    }
    for (size_t row = 0; row < wanted.size(); ++row) {
      const float* const of_row =
          x.grad_data() + static_cast<int64_t>(row) * kIn;
      if (wanted[row] >= 0) {
        gradients.insert(gradients.end(), of_row, of_row + kIn);
      } else {
        EXPECT_THAT(absl::MakeConstSpan(of_row, kIn), Each(0));
      }
    }
    return std::pair(loss.item(), gradients);
  };
  const auto [loss, gradients] = run(with, targets);
  const auto [expected_loss, expected_gradients] = run(without, counted);
  EXPECT_FLOAT_EQ(loss, expected_loss);
  EXPECT_EQ(gradients, expected_gradients);
}

TEST(LinearCrossEntropyTest, WorksWithoutBias) {
  const auto targets = Targets(4, 3);
  CheckAgainstReference(MakeFusedKernelCase(
      "LinearCrossEntropy", {{{4, 5}}, {{3, 5}}},
      [=](auto&, auto in) {
        return LinearCrossEntropy(in[0], in[1], {}, targets);
      },
      [=](auto&, auto in) {
        return CrossEntropy(Linear(in[0], in[1], {}), targets);
      }));
}

TEST(CrossEntropyTest, IsTheNegativeLogLikelihoodInNats) {
  Tape<double> tape;
  // The probabilities are 1/4 and 3/4 in both rows.
  Var<double> x = tape.Input({2, 2}, {0, std::log(3), 100, 100 + std::log(3)});
  EXPECT_NEAR(CrossEntropy(x, {0, 1}).item(), std::log(4) + std::log(4. / 3),
              1e-12);
}

TEST(CrossEntropyTest, SmoothingMixesInTheMeanOverClasses) {
  Tape<double> tape;
  Var<double> x = tape.Input({1, 2}, {0, std::log(3)});
  const double first = std::log(4);
  const double second = std::log(4. / 3);
  EXPECT_NEAR(CrossEntropy(x, {0}, {0.2}).item(),
              0.8 * first + 0.2 * (first + second) / 2, 1e-14);
}

TEST(CrossEntropyTest, IgnoredRowsCountForNothing) {
  Tape<double> tape;
  Var<double> x = tape.Input({2, 2}, {1, 2, 3, 4});
  Var<double> loss = CrossEntropy(x, {9, 9}, {.ignore_id = 9});
  EXPECT_EQ(loss.item(), 0);
  tape.Backward(loss);
  EXPECT_THAT(std::vector<double>(x.grad_data(), x.grad_data() + 4), Each(0));
}

TEST(SquaredErrorTest, SumsOverElements) {
  Tape<double> tape;
  Var<double> a = tape.Input({2}, {1, 5});
  Var<double> b = tape.Input({2}, {3, 4});
  Var<double> sum = SquaredError(a, b);
  EXPECT_EQ(sum.item(), 5);
  tape.Backward(sum);
  EXPECT_THAT(std::vector<double>(a.grad_data(), a.grad_data() + 2),
              ElementsAre(-4, 2));
}

TEST(LossDeathTest, TargetsOutOfRange) {
  Tape<double> tape;
  Var<double> x = tape.Full({2, 3}, 0);
  EXPECT_DEATH(CrossEntropy(x, {0, 3}), "target 3 among 3 classes");
  EXPECT_DEATH(CrossEntropy(x, {0}), "targets for the rows of \\[2, 3\\]");
  EXPECT_DEATH(LinearCrossEntropy(x, tape.Full({2, 2}, 0), {}, {0, 0}),
               "LinearCrossEntropy of \\[2, 3\\] with weight \\[2, 2\\]");
  EXPECT_DEATH(SquaredError(x, tape.Full({3, 2}, 0)), "shapes in SquaredError");
}

}  // namespace
}  // namespace regard
