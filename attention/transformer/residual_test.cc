#include "attention/transformer/residual.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(NormTest, ALayerNormOfKnownRows) {
  LayerTestHarness<double> run;
  const Norm<double> norm(NormConfig(), 2, run.store().Root());
  run.store().Finalize(0);
  Forward<double>& forward = run.Begin();
  // The magnitude of normalized elements is 1 / sqrt(1 + 4e-5) = 0.99998.
  const Var<double> x = run.tape().Input({2, 2}, {1, 2, 2, 3});
  EXPECT_THAT(
      norm(forward, x).span(),
      ElementsAre(DoubleNear(-0.99998, 1e-8), DoubleNear(.99998, 1e-8),
                  DoubleNear(-0.99998, 1e-8), DoubleNear(.99998, 1e-8)));
}

TEST(NormTest, CountsItsParameters) {
  const auto count = [](const char* config) {
    ParameterStore<float> store;
    const Norm<float> norm(Parse<NormConfig>(config), 6, store.Root());
    return store.num_elements();
  };
  EXPECT_EQ(count(""), 12);
  EXPECT_EQ(count("bias: false"), 6);
  EXPECT_EQ(count("kind: RMS_NORM"), 6);
}

TEST(ResidualTest, NormalizesBeforeTheBranchOrAfterTheSum) {
  for (const bool pre : {true, false}) {
    LayerTestHarness<double> run;
    TransformerConfig config = Parse<TransformerConfig>("width: 4 layers: 1");
    config.set_norm_order(pre ? TransformerConfig::PRE
                              : TransformerConfig::POST);
    const Residual<double> residual(config, 0, run.store().Root().Sub("r"));
    const Norm<double> norm(NormConfig(), 4, run.store().Root().Sub("n"));
    Forward<double>& forward = run.Begin();
    for (const char* name : {"weight", "bias"}) {
      const auto from = run.value(std::string("r.") + name);
      std::copy(from.begin(), from.end(),
                run.value(std::string("n.") + name).begin());
    }
    const auto branch = [](Var<double> in) { return Square(in); };
    const Var<double> x = run.Input({2, 3, 4});
    const Var<double> got = residual(forward, x, branch);
    const Var<double> want =
        pre ? x + branch(norm(forward, x)) : norm(forward, x + branch(x));
    EXPECT_EQ(ValuesOf(got), ValuesOf(want));
  }
}

TEST(ResidualTest, GradientsAgreeWithDifferences) {
  for (const char* fields :
       {"norm_order: PRE", "norm_order: POST",
        "norm_order: PRE norm { kind: RMS_NORM } dropout: 0.4",
        "norm_order: POST norm { bias: false } drop_path: 0.5"}) {
    LayerTestHarness<double> run;
    TransformerConfig config = Parse<TransformerConfig>(fields);
    config.set_width(4);
    config.set_layers(1);
    const Residual<double> residual(config, 0, run.store().Root());
    run.tape().set_training(true);
    SCOPED_TRACE(fields);
    CheckLayerGradients(
        run, {{3, 2, 4}},
        [&](Forward<double>& forward, absl::Span<const Var<double>> in) {
          return residual(forward, in[0],
                          [](Var<double> x) { return Tanh(x); });
        });
  }
}

TEST(DropPathTest, DropsWholeExamplesAndKeepsTheMean) {
  Tape<float> tape;
  tape.set_training(true);
  const Var<float> y = DropPath(tape.Full({2000, 2, 3}, 1), 0.25, "site");
  int64_t dropped = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const float first = y.data()[i * 6];
    EXPECT_TRUE(first == 0 || first == 1 / 0.75F) << first;
    for (int64_t j = 0; j < 6; ++j) EXPECT_EQ(y.data()[i * 6 + j], first);
    dropped += first == 0;
  }
  // The number of dropped examples has mean 500 and standard deviation 19.
  EXPECT_NEAR(dropped, 500, 95);
}

TEST(DropPathTest, FollowsTheExampleIntoAnotherShard) {
  Tape<float> tape;
  tape.set_training(true);
  const auto drop = [&](const std::vector<int64_t>& examples) {
    tape.set_random({.seed = 3, .step = 5, .examples = examples});
    return ValuesOf(DropPath(
        tape.Full({static_cast<int64_t>(examples.size()), 1}, 1), 0.5, "site"));
  };
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 40; ++i) all.push_back(7 * i);
  const std::vector<float> together = drop(all);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(drop({all[i]})[0], together[i]) << "example " << all[i];
  }
}

TEST(DropPathTest, IsTheIdentityOutsideTrainingAndAtRateZero) {
  Tape<float> tape;
  const Var<float> x = tape.Full({3, 2}, 1);
  EXPECT_EQ(DropPath(x, 0.5, "site").data(), x.data());
  tape.set_training(true);
  EXPECT_EQ(DropPath(x, 0, "site").data(), x.data());
}

// Returns the number of examples, out of 1,000, that skip a branch of `layer`.
int64_t Dropped(const TransformerConfig& config, int64_t layer) {
  LayerTestHarness<float> run;
  const Residual<float> residual(config, layer, run.store().Root());
  Forward<float>& forward = run.Begin();
  run.tape().set_training(true);
  const Var<float> zero = run.tape().Full({1000, 1, 1}, 0);
  const Var<float> y = residual(
      forward, zero, [](Var<float> x) { return x.tape().Full(x.shape(), 1); });
  int64_t dropped = 0;
  for (const float element : y.span()) dropped += element == 0;
  return dropped;
}

// The rate must grow from 0 in the first layer to drop_path in the last layer.
TEST(ResidualTest, DropPathGrowsWithTheLayer) {
  const TransformerConfig config = Parse<TransformerConfig>(
      "width: 1 layers: 3 drop_path: 0.8 norm_order: PRE");
  for (int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_NEAR(Dropped(config, layer), 400 * layer, layer == 0 ? 0 : 80)
        << layer;
  }
}

TEST(ResidualTest, ALayerOfThePatternHasItsOwnDropPath) {
  const TransformerConfig config = Parse<TransformerConfig>(
      "width: 1 layers: 5 drop_path: 0.8 norm_order: PRE pattern { drop_path: "
      "0.3 } pattern { drop_path: 0 } pattern {}");
  for (const int64_t layer : {0, 3}) {
    EXPECT_NEAR(Dropped(config, layer), 300, 80) << layer;
  }
  for (const int64_t layer : {1, 4}) EXPECT_EQ(Dropped(config, layer), 0);
  EXPECT_NEAR(Dropped(config, 2), 400, 80);
}

}  // namespace
}  // namespace regard
