#include "optimization/product_census.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/rounding_tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;

// Maps 3 numbers to 5 in scope "layer[0]". Then maps 5 numbers to 5 in scope
// "layer[1]/full", twice. Multiplies the result by itself outside of scopes.
class Layers : public Model<float> {
 public:
  explicit Layers(int64_t examples) : examples_(examples) {
    first_ = store_.Root().Add("first", {5, 3}, XavierUniform(3, 5));
    second_ = store_.Root().Add("second", {5, 5}, XavierUniform(5, 5));
    store_.Finalize(1);
  }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return examples_; }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> /*denominators*/,
            absl::Span<Var<float>> sums) const override {
    sums[0] = Run(forward, static_cast<int64_t>(examples.size()));
  }
  // There is only a test set, with 7 examples.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override {
    if (split != Split::kTest) return {};
    forward.BeginStep();
    Run(forward, 7);
    return {};
  }

 private:
  Var<float> Run(Forward<float>& forward, int64_t rows) const {
    Tape<float>& tape = forward.tape();
    Var<float> x = tape.Full({rows, 3}, 1);
    {
      const NameScope<float> layer(tape, "layer", 0);
      x = Tanh(Linear(x, forward[first_], {}));
    }
    {
      const NameScope<float> layer(tape, "layer", 1);
      const NameScope<float> full(tape, "full");
      for (int i = 0; i < 2; ++i) x = Linear(x, forward[second_], {});
    }
    return Sum(MatMul(x, x, {.b = true}));
  }

  const int64_t examples_;
  ParameterStore<float> store_;
  Parameter<float> first_;
  Parameter<float> second_;
};

// A product of [m, k] and [k, n] has 2 m k n operations.
TEST(CountOperationFlopsTest, CountsByHand) {
  Layers model(10);  // the pass is over the first two examples
  EXPECT_THAT(
      CountOperationFlops(model, 1),
      ElementsAre(FieldsAre("layer[0]", "Linear", 2 * 2 * 3 * 5, 0),
                  FieldsAre("layer[1]/full", "Linear", 2 * (2 * 2 * 5 * 5), 0),
                  FieldsAre("", "MatMul", 2 * 2 * 5 * 2, 0)));
}

TEST(CountOperationFlopsTest, CountsRoundedProducts) {
  Layers model(1);
  model.parameters().set_precision(std::make_shared<RoundOutsideFullRule>());
  EXPECT_THAT(CountOperationFlops(model, 1),
              ElementsAre(FieldsAre("layer[0]", "Linear", 30, 30),
                          FieldsAre("layer[1]/full", "Linear", 100, 0),
                          FieldsAre("", "MatMul", 10, 10)));
}

TEST(CountOperationFlopsTest, EvaluatesAModelWithoutTrainingExamples) {
  Layers model(0);
  const std::vector<OperationFlops> products = CountOperationFlops(model, 1);
  ASSERT_EQ(products.size(), 3);
  EXPECT_EQ(products[0].flops, 2 * 7 * 3 * 5);
}

}  // namespace
}  // namespace regard
