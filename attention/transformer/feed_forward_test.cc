#include "attention/transformer/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr const char* kEveryKind[] = {
    "hidden: 5 activation: RELU",
    "hidden: 5 activation: GELU",
    "hidden: 5 activation: GELU_TANH bias: false",
    "hidden: 5 activation: SWIGLU",
    "hidden: 5 activation: SWIGLU bias: false chunk: 2",
    "hidden: 5 activation: GELU chunk: 2 dropout: 0.3",
};

template <typename T>
FeedForward<T> MakeLayer(const std::string& config, int64_t width,
                         LayerTestHarness<T>& run) {
  return FeedForward<T>(Parse<FeedForwardConfig>(config),
                        TransformerInitialization(), width, /*branches=*/2,
                        run.store().Root());
}

TEST(FeedForwardTest, GradientsAgreeWithDifferences) {
  for (const char* config : kEveryKind) {
    LayerTestHarness<double> run;
    const FeedForward<double> layer = MakeLayer<double>(config, 3, run);
    run.tape().set_training(true);
    SCOPED_TRACE(config);
    CheckLayerGradients(
        run, {{2, 5, 3}},
        [&](Forward<double>& forward, absl::Span<const Var<double>> in) {
          return layer(forward, in[0]);
        });
  }
}

TEST(FeedForwardTest, MatchesItsFormula) {
  LayerTestHarness<double> run;
  const FeedForward<double> layer =
      MakeLayer<double>("hidden: 2 activation: RELU", 1, run);
  Forward<double>& forward = run.Begin();
  const auto set = [&](const char* name, const std::vector<double>& values) {
    std::copy(values.begin(), values.end(), run.value(name).begin());
  };
  set("input.weight", {2, -3});
  set("input.bias", {1, 1});
  set("output.weight", {5, 7});
  set("output.bias", {0.5});
  // The output is 5 * relu(2 x + 1) + 7 * relu(-3 x + 1) + 0.5.
  const Var<double> x = run.tape().Input({1, 2, 1}, {1, -1});
  EXPECT_THAT(layer(forward, x).span(), ElementsAre(15.5, 28.5));
}

TEST(FeedForwardTest, GatesWithSwiGlu) {
  LayerTestHarness<double> run;
  const FeedForward<double> layer =
      MakeLayer<double>("hidden: 1 activation: SWIGLU bias: false", 1, run);
  Forward<double>& forward = run.Begin();
  run.value("gate.weight")[0] = 1;
  run.value("input.weight")[0] = 2;
  run.value("output.weight")[0] = 3;
  // The output is 3 * silu(x) * 2 x. At x = log 3, silu(x) is 3/4 * log 3.
  const double x = std::log(3);
  EXPECT_THAT(layer(forward, run.tape().Input({1, 1, 1}, {x})).span(),
              ElementsAre(DoubleNear(4.5 * x * x, 1e-14)));
}

TEST(FeedForwardTest, CountsItsParameters) {
  const auto count = [](const std::string& config) {
    LayerTestHarness<float> run;
    MakeLayer<float>(config, 3, run);
    return run.store().num_elements();
  };
  EXPECT_EQ(count("hidden: 5"), 3 * 5 + 5 + 5 * 3 + 3);
  EXPECT_EQ(count("hidden: 5 bias: false"), 2 * 3 * 5);
  EXPECT_EQ(count("hidden: 5 activation: SWIGLU"), 3 * 3 * 5 + 2 * 5 + 3);
}

// Chunks must not change any bit of the output. In training, the dropout mask
// of a chunk must therefore be a part of the whole mask.
TEST(FeedForwardTest, ChunksHaveTheBitsOfAllPositionsAtOnce) {
  for (const bool training : {false, true}) {
    for (const bool recording : {false, true}) {
      std::vector<float> whole;
      std::vector<float> gradient;
      for (const int chunk : {0, 1, 3, 7, 8}) {
        LayerTestHarness<float> run;
        const FeedForward<float> layer = MakeLayer<float>(
            "hidden: 33 activation: GELU dropout: 0.3 chunk: " +
                std::to_string(chunk),
            17, run);
        Forward<float>& forward = run.Begin();
        run.tape().set_training(training);
        run.tape().set_recording(recording);
        const Var<float> x =
            recording
                ? run.Input({2, 7, 17})
                : run.tape().Constant({2, 7, 17}, run.Input({2, 7, 17}).span());
        const Var<float> y = layer(forward, x);
        if (chunk == 0) whole = ValuesOf(y);
        EXPECT_EQ(ValuesOf(y), whole) << "chunks of " << chunk;
        if (!recording) continue;
        run.BackwardFrom(y);
        if (chunk == 0) {
          gradient.assign(run.gradients().begin(), run.gradients().end());
        }
        for (size_t i = 0; i < gradient.size(); ++i) {
          ASSERT_NEAR(run.gradients()[i], gradient[i],
                      1e-5 * (1 + std::abs(gradient[i])))
              << "chunks of " << chunk << ", element " << i;
        }
      }
    }
  }
}

TEST(FeedForwardTest, ChunksTakeLessMemoryWithoutGradients) {
  // Without a gradient slab, the layer records no operations, even if the tape
  // may record.
  const auto bytes = [](const std::string& chunk, bool recording) {
    LayerTestHarness<float> run;
    const FeedForward<float> layer =
        MakeLayer<float>("hidden: 256 " + chunk, 8, run);
    run.Begin();
    Forward<float> inference(run.tape(), run.store(), /*gradients=*/nullptr);
    inference.BeginStep();
    run.tape().set_recording(recording);
    const size_t before = run.tape().high_water_bytes();
    layer(inference, run.tape().Full({4, 256, 8}, 0.5F));
    return run.tape().high_water_bytes() - before;
  };
  for (const bool recording : {false, true}) {
    // Without chunks, there are two arrays of 4 * 256 * 256 hidden values in
    // float.
    EXPECT_GT(bytes("", recording), 2'000'000);
    EXPECT_LT(bytes("chunk: 16", recording), 400'000);
  }
}

}  // namespace
}  // namespace regard
