// Compares operations on a tape with calls of Gemm() on plain arrays. The tape
// rounds the operands of products.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/full_precision_scope.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/packed_weights.h"
#include "autodiff/precision.h"
#include "autodiff/tape.h"
#include "autodiff/testing/rounding_tape.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using Numbers = std::vector<float>;

constexpr ProductPrecision kFull = ProductPrecision::kFull;
constexpr ProductPrecision kBfloat16 = ProductPrecision::kBfloat16;

ConstMatrix<float> View(const Numbers& x, int64_t rows) {
  const auto size = static_cast<int64_t>(x.size());
  return {x.data(), rows, rows == 0 ? 0 : size / rows};
}

Numbers Product(const ConstMatrix<float>& a, const ConstMatrix<float>& b,
                ProductPrecision precision = kBfloat16) {
  Numbers c(a.rows * b.cols);
  Gemm<float>(a, b, {c.data(), a.rows, b.cols}, GemmMode::kAssign, 1,
              precision);
  return c;
}

Numbers ProductPlus(const ConstMatrix<float>& a, const ConstMatrix<float>& b,
                    const ConstMatrix<float>& addend) {
  Numbers c(a.rows * b.cols);
  GemmPlus<float>(a, b, addend, {c.data(), a.rows, b.cols}, kBfloat16);
  return c;
}

// A weight whose owner keeps packed copies.
struct OwnWeight {
  OwnWeight(const Shape& shape, uint64_t seed)
      : shape(shape),
        values(NormalFloats(shape.size(), seed)),
        grad(shape.size()) {
    packed.Add();
  }

  Var<float> On(Tape<float>& tape, bool needs_grad = true) {
    return tape.Leaf(values.data(), needs_grad ? grad.data() : nullptr, shape,
                     /*sparse=*/false, &packed[0]);
  }

  Shape shape;
  Numbers values;
  Numbers grad;
  PackedWeights<float> packed;
};

// Expects that Linear() on columns of a weight [7, 50] has the bits of plain
// products. If `packed` is true, the weight has packed copies.
void CheckLinear(int64_t rows, int64_t first, int64_t count, bool packed) {
  SCOPED_TRACE("rows " + std::to_string(rows) + ", columns " +
               std::to_string(count) + (packed ? ", packed" : ""));
  const int64_t out = 7;
  const int64_t in = 50;
  OwnWeight owner({out, in}, 1);
  ProductRoundingTape tape;
  const Var<float> weight =
      packed ? owner.On(tape) : tape.Input({out, in}, owner.values);
  const Var<float> bias = NormalLeaf(tape, {out}, 2);
  const Var<float> x = NormalLeaf(tape, {rows, count}, 3);
  const Var<float> y = Linear(x, WeightColumns(weight, first, count), bias);
  const ConstMatrix<float> part(owner.values.data() + first, out, count, in);
  const ConstMatrix<float> rows_of_x(x.data(), rows, count);
  EXPECT_EQ(
      Bits(y.span()),
      Bits(ProductPlus(rows_of_x, part.Transposed(),
                       ConstMatrix<float>::Repeated(bias.data(), rows, out))));

  const Numbers g = BackwardFrom(y, 4);
  const ConstMatrix<float> rows_of_g(g.data(), rows, out);
  EXPECT_EQ(GradientBits(x), Bits(Product(rows_of_g, part)));
  Numbers d_weight(out * in);
  Gemm<float>(rows_of_g.Transposed(), rows_of_x,
              {d_weight.data() + first, out, count, in}, GemmMode::kAssign, 1,
              kBfloat16);
  EXPECT_EQ(GradientBits(weight), Bits(d_weight));
}

TEST(RoundedLinearTest, HasTheBitsOfPlainProducts) {
  for (const bool packed : {false, true}) {
    for (const int64_t rows : {1, 5, 40, 255, 256, 300}) {
      CheckLinear(rows, 0, 50, packed);
    }
    CheckLinear(5, 3, 41, packed);
    CheckLinear(300, 3, 41, packed);
  }
}

TEST(RoundedLinearTest, AddsAnArrayWithoutRoundingIt) {
  ProductRoundingTape tape;
  const Var<float> weight = tape.Input({1, 1}, {1 + 0x1p-12F});
  const Var<float> x = tape.Input({2, 1}, {2, 1 + 0x1p-12F});
  const Var<float> addend = tape.Input({2, 1}, {1 + 0x1p-12F, 0});
  const Var<float> y = Linear(x, weight, addend);
  EXPECT_EQ(y.data()[0], 3 + 0x1p-12F);
  EXPECT_EQ(y.data()[1], 1);
  tape.Backward(Sum(y), 1 + 0x1p-12F);
  EXPECT_EQ(addend.grad_data()[0], 1 + 0x1p-12F);
  EXPECT_EQ(x.grad_data()[0], 1);
  EXPECT_EQ(weight.grad_data()[0], 3);
}

// The queue of gradient products is cut every kGemmDepth rows. This is a
// multiple of 32, so the cuts do not change results.
TEST(RoundedLinearTest, BatchesHaveTheGradientOfOneProductOfAllRows) {
  ASSERT_EQ(kGemmDepth % 32, 0);
  const int64_t out = 5;
  const int64_t in = 37;
  for (const int64_t rows : {1, 13, 32, 100}) {
    const int64_t steps = 700 / rows;
    ProductRoundingTape tape;
    const Var<float> weight = NormalLeaf(tape, {out, in}, 1);
    std::vector<Var<float>> xs, ys;
    for (int64_t t = 0; t < steps; ++t) {
      xs.push_back(NormalLeaf(tape, {rows, in}, 10 + t));
      ys.push_back(Linear(xs[t], weight, {}));
      const Numbers g = NormalFloats(rows * out, 1000 + t);
      if (auto d = ys[t].grad_ref()) {
        d.AddEach([&](int64_t i) { return g[i]; });
      }
    }
    tape.BackwardTo({});
    Numbers g, x;
    for (int64_t t = steps - 1; t >= 0; --t) {
      g.insert(g.end(), ys[t].grad_data(), ys[t].grad_data() + ys[t].size());
      x.insert(x.end(), xs[t].data(), xs[t].data() + xs[t].size());
    }
    EXPECT_EQ(GradientBits(weight),
              Bits(Product(View(g, steps * rows).Transposed(),
                           View(x, steps * rows))))
        << rows;
  }
}

// Rounding changes 1 + 2^-12 to 1. Full precision keeps 1 + 2^-12.
TEST(RoundedLinearTest, TheGradientHasTheProductsOfBothPrecisions) {
  for (const bool packed : {false, true}) {
    for (const int64_t rows : {3, 300}) {
      OwnWeight owner({1, 1}, 1);
      ProductRoundingTape tape;
      const Var<float> weight =
          packed ? owner.On(tape) : tape.Input({1, 1}, owner.values);
      Var<float> sum = tape.Full({}, 0);
      for (int i = 0; i < 4; ++i) {
        const Var<float> x = tape.Full({rows, 1}, 1 + 0x1p-12F);
        if (i % 2 == 0) {
          sum = sum + Sum(Linear(x, weight, {}));
        } else {
          const FullPrecisionScope<float> full(tape);
          sum = sum + Sum(Linear(x, weight, {}));
        }
      }
      tape.Backward(sum);
      EXPECT_EQ(weight.grad_data()[0],
                static_cast<float>(rows) * (4 + 2 * 0x1p-12F))
          << rows;
    }
  }
}

TEST(RoundedLinearTest, EachPrecisionReadsItsOwnCopies) {
  OwnWeight owner({40, 24}, 1);
  ProductRoundingTape tape;
  const PrecisionRule* const rule = tape.precision_rule();
  const Numbers x = NormalFloats(3 * 24, 2);
  const ConstMatrix<float> transposed =
      ConstMatrix<float>(owner.values.data(), 40, 24).Transposed();
  const Numbers full = Product(View(x, 3), transposed, kFull);
  const Numbers rounded = Product(View(x, 3), transposed);
  EXPECT_NE(full, rounded);
  const Var<float> weight = owner.On(tape);
  for (int i = 0; i < 4; ++i) {
    tape.set_precision_rule(nullptr);
    EXPECT_EQ(Bits(Linear(tape.Input({3, 24}, x), weight, {}).span()),
              Bits(full));
    tape.set_precision_rule(rule);
    EXPECT_EQ(Bits(Linear(tape.Input({3, 24}, x), weight, {}).span()),
              Bits(rounded));
  }
}

TEST(RoundedLinearTest, AWeightThatChangesIsRoundedAnew) {
  OwnWeight owner({40, 24}, 1);
  const Numbers x = NormalFloats(3 * 24, 2);
  ProductRoundingTape tape;
  int64_t bytes = 0;
  for (int step = 0; step < 3; ++step) {
    tape.Reset();
    const Var<float> input = tape.Input({3, 24}, x);
    const Var<float> y = Linear(input, owner.On(tape), {});
    const ConstMatrix<float> weight(owner.values.data(), 40, 24);
    EXPECT_EQ(Bits(y.span()), Bits(Product(View(x, 3), weight.Transposed())));
    const Numbers g = BackwardFrom(y, 3);
    EXPECT_EQ(GradientBits(input), Bits(Product(View(g, 3), weight)));
    if (step == 0) bytes = owner.packed.bytes();
    EXPECT_GT(owner.packed.bytes(), 0);
    EXPECT_EQ(owner.packed.bytes(), bytes);
    owner.packed.Invalidate();
    for (float& value : owner.values) value *= -1.5F;
  }
}

struct BatchedCase {
  Transpositions transposed;
  bool broadcast;  // whether both products share one b
};

// Expects that MatMul() of two pairs of matrices, [5, 40] and [40, 6], has the
// bits of plain products.
void CheckMatMul(const BatchedCase& c) {
  const int64_t m = 5, k = 40, n = 6;
  const auto [a_turned, b_turned] = c.transposed;
  ProductRoundingTape tape;
  const Var<float> a =
      NormalLeaf(tape, a_turned ? Shape{2, k, m} : Shape{2, m, k}, 1);
  const Shape of_b = b_turned ? Shape{n, k} : Shape{k, n};
  const Var<float> b =
      NormalLeaf(tape, c.broadcast ? of_b : Shape{2, of_b[0], of_b[1]}, 2);
  const Var<float> y = MatMul(a, b, c.transposed);
  const Numbers g = BackwardFrom(y, 3);

  Numbers expected, d_a, d_b(b.size());
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t at_b = c.broadcast ? 0 : i * k * n;
    ConstMatrix<float> left(a.data() + i * m * k, a.dim(1), a.dim(2));
    ConstMatrix<float> right(b.data() + at_b, of_b[0], of_b[1]);
    if (a_turned) left = left.Transposed();
    if (b_turned) right = right.Transposed();
    const ConstMatrix<float> of_g(g.data() + i * m * n, m, n);
    const auto append = [](const Numbers& from, Numbers& to) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(Product(left, right), expected);
    append(a_turned ? Product(right, of_g.Transposed())
                    : Product(of_g, right.Transposed()),
           d_a);
    const MutableMatrix<float> to(d_b.data() + at_b, of_b[0], of_b[1]);
    if (b_turned) {
      Gemm<float>(of_g.Transposed(), left, to, GemmMode::kAdd, 1, kBfloat16);
    } else {
      Gemm<float>(left.Transposed(), of_g, to, GemmMode::kAdd, 1, kBfloat16);
    }
  }
  EXPECT_EQ(Bits(y.span()), Bits(expected));
  EXPECT_EQ(GradientBits(a), Bits(d_a));
  EXPECT_EQ(GradientBits(b), Bits(d_b));
}

TEST(RoundedMatMulTest, HasTheBitsOfPlainProducts) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      SCOPED_TRACE(std::to_string(a) + std::to_string(b));
      CheckMatMul({{.a = a, .b = b}, false});
    }
  }
  // The next test covers a shared b with an `a` that is not transposed.
  // MatMul() then computes all rows of `a` in one product.
  CheckMatMul({{.a = true, .b = false}, true});
}

TEST(RoundedMatMulTest, OneMatrixMultipliesAllRowsAtOnce) {
  for (const bool turned : {false, true}) {
    ProductRoundingTape tape;
    const Var<float> a = NormalLeaf(tape, {2, 25, 40}, 1);
    const Var<float> b =
        NormalLeaf(tape, turned ? Shape{6, 40} : Shape{40, 6}, 2);
    const Var<float> y = MatMul(a, b, {.b = turned});
    const Numbers g = BackwardFrom(y, 3);
    const ConstMatrix<float> left(a.data(), 50, 40);
    const ConstMatrix<float> stored(b.data(), b.dim(0), b.dim(1));
    const ConstMatrix<float> right = turned ? stored.Transposed() : stored;
    const ConstMatrix<float> of_g(g.data(), 50, 6);
    EXPECT_EQ(Bits(y.span()), Bits(Product(left, right)));
    EXPECT_EQ(GradientBits(a), Bits(Product(of_g, right.Transposed())));
    EXPECT_EQ(GradientBits(b), Bits(turned ? Product(of_g.Transposed(), left)
                                           : Product(left.Transposed(), of_g)));
  }
}

// Compares LinearCrossEntropy() with a plain product and CrossEntropy(). Rows
// with target -1 must be ignored. All rows must fit into one block of the
// operation.
void CheckLoss(const std::vector<int32_t>& targets, bool packed) {
  const int64_t in = 40;
  const int64_t classes = 9;
  const auto rows = static_cast<int64_t>(targets.size());
  OwnWeight owner({classes, in}, 1);
  ProductRoundingTape tape;
  const Var<float> weight =
      packed ? owner.On(tape) : tape.Input({classes, in}, owner.values);
  const Var<float> bias = NormalLeaf(tape, {classes}, 2);
  const Var<float> x = NormalLeaf(tape, {rows, in}, 3);
  const Var<float> loss = LinearCrossEntropy(x, weight, bias, targets);
  tape.Backward(loss);

  std::vector<int32_t> counted;
  Numbers of_counted;
  for (int64_t i = 0; i < rows; ++i) {
    if (targets[i] < 0) continue;
    counted.push_back(targets[i]);
    of_counted.insert(of_counted.end(), x.data() + i * in,
                      x.data() + (i + 1) * in);
  }
  const auto count = static_cast<int64_t>(counted.size());
  const ConstMatrix<float> w(owner.values.data(), classes, in);
  Tape<float> plain;
  const Var<float> logits = plain.Input(
      {count, classes},
      ProductPlus(View(of_counted, count), w.Transposed(),
                  ConstMatrix<float>::Repeated(bias.data(), count, classes)));
  const Var<float> expected = CrossEntropy(logits, counted);
  plain.Backward(expected);
  const ConstMatrix<float> g(logits.grad_data(), count, classes);
  if (count == rows) {
    EXPECT_EQ(loss.item(), expected.item());
  } else {
    // Ignored rows have a loss of 0. They change the order in which the losses
    // are added.
    EXPECT_NEAR(loss.item(), expected.item(), 1e-5 * expected.item());
  }
  EXPECT_EQ(GradientBits(weight),
            Bits(Product(g.Transposed(), View(of_counted, count))));
  const Numbers d_counted = Product(g, w);
  Numbers d_x(rows * in);
  for (int64_t i = 0, next = 0; i < rows; ++i) {
    if (targets[i] < 0) continue;
    std::copy_n(d_counted.data() + next++ * in, in, d_x.data() + i * in);
  }
  EXPECT_EQ(Bits(absl::MakeConstSpan(x.grad_data(), x.size())), Bits(d_x));
}

TEST(RoundedLossTest, HasTheBitsOfPlainProducts) {
  for (const bool packed : {false, true}) {
    for (const int64_t rows : {1, 50, 600}) {
      std::vector<int32_t> targets(rows);
      for (int64_t i = 0; i < rows; ++i) targets[i] = i * 5 % 9;
      SCOPED_TRACE(rows);
      CheckLoss(targets, packed);
    }
    std::vector<int32_t> some(70, -1);
    for (size_t i = 0; i < some.size(); i += 2) some[i] = i % 9;
    CheckLoss(some, packed);
  }
}

}  // namespace
}  // namespace regard
