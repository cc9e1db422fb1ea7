// After the first steps, no operation must make a heap allocation.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/loss.h"
#include "autodiff/ops/norm.h"
#include "autodiff/ops/recompute.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

constexpr int64_t kWidth = 24;

struct Parameter {
  explicit Parameter(const Shape& shape)
      : shape(shape), value(shape.size(), 0.1f), grad(shape.size()) {}

  Var<float> On(Tape<float>& tape) {
    return tape.Leaf(value.data(), grad.data(), shape);
  }

  Shape shape;
  std::vector<float> value;
  std::vector<float> grad;
};

struct Model {
  Parameter table{{11, kWidth}};
  Parameter weight{{kWidth, kWidth}};
  Parameter bias{{kWidth}};
  Parameter gain{{kWidth}};
  std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6};

  void Step(Tape<float>& tape) {
    tape.Reset();
    tape.set_training(true);
    const Var<float> w = weight.On(tape);
    const Var<float> b = bias.On(tape);
    const Var<float> embedding = table.On(tape);
    NameScope<float> scope(tape, "model");
    Var<float> x = Gather(embedding, ids, {2, 3});
    x = LayerNorm(x, gain.On(tape), b, 1e-5);
    x = Dropout(x, 0.1, "site");
    x = Gelu(Linear(x, w, b)) + GeluTanh(x) * Softplus(x) - Relu(x);
    const Var<float> scores = MatMul(x, x, {.b = true}) / 5;
    x = MatMul(Softmax(scores), x) + MatMul(Exp(LogSoftmax(scores)), x);
    const Var<float> parts[] = {Slice(x, -1, 0, 12), Slice(x, -1, 12, 12)};
    x = Concat<float>(parts, -1) + Transpose(Transpose(x)).Reshape(x.shape());
    const Var<float> both[] = {x, tape.Leaf(x.data(), nullptr, x.shape())};
    x = Mean(Stack<float>(both, 0), 0) + BroadcastTo(Max(x), x.shape());
    const Var<float> inputs[] = {x, w};
    x = Recompute(tape, absl::MakeConstSpan(inputs),
                  [](absl::Span<const Var<float>> in) {
                    return Tanh(MatMul(in[0], in[1]));
                  });
    Var<float> loss = CrossEntropy(x, ids) +
                      LinearCrossEntropy(x, embedding, {}, ids) +
                      SquaredError(x, Sigmoid(x)) + Sum(Pow(Abs(x) + 1, 1.5));
    tape.Backward(loss);
  }
};

TEST(AllocationTest, TheCounterCounts) {
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  const int64_t before = AllocationCount();
  std::vector<int> array(1000, 1);
  EXPECT_EQ(array[999], 1);
  EXPECT_GT(AllocationCount(), before);
}

TEST(AllocationTest, AWarmStepAllocatesNothing) {
  Tape<float> tape;
  Model model;
  for (int step = 0; step < 3; ++step) model.Step(tape);
  const int64_t before = AllocationCount();
  for (int step = 0; step < 3; ++step) model.Step(tape);
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
