#include "attention/transformer/position_embedding.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"

namespace regard {
namespace {

template <typename T>
PositionEmbedding<T> Make(const char* config, int64_t width,
                          LayerTestHarness<T>& run) {
  return PositionEmbedding<T>(Parse<PositionEmbeddingConfig>(config),
                              TransformerInitialization(), width,
                              run.store().Root());
}

TEST(PositionEmbeddingTest, SinusoidsMatchTheirFormula) {
  for (const int64_t width : {32, 5, 1}) {
    LayerTestHarness<double> run;
    const PositionEmbedding<double> positions =
        Make<double>("kind: SINUSOIDAL", width, run);
    Forward<double>& forward = run.Begin();
    const Var<double> y =
        positions(forward, run.tape().Full({2, 60, width}, 10), /*first=*/3);
    for (int64_t row = 0; row < 2 * 60; ++row) {
      const auto i = static_cast<double>(3 + row % 60);
      for (int64_t column = 0; column < width; ++column) {
        const int64_t pair = column / 2 * 2;
        const double angle =
            i / std::pow(10000, static_cast<double>(pair) /
                                    static_cast<double>(width));
        const double want = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
        ASSERT_NEAR(y.data()[row * width + column], 10 + want, 1e-12)
            << "position " << i << ", column " << column;
      }
    }
    EXPECT_EQ(positions.longest_position(), kUnlimited);
  }
}

TEST(PositionEmbeddingTest, LearnedVectorsAreRowsOfTheirWeight) {
  LayerTestHarness<double> run;
  const PositionEmbedding<double> positions =
      Make<double>("kind: LEARNED longest: 6", 3, run);
  EXPECT_EQ(run.store().num_elements(), 6 * 3);
  EXPECT_EQ(run.store().parameters()[0].options.role,
            ParameterRole::kEmbedding);
  EXPECT_EQ(positions.longest_position(), 6);
  CheckLayerGradients(
      run, {{2, 2, 3}},
      [&](Forward<double>& forward, absl::Span<const Var<double>> in) {
        return positions(forward, in[0], /*first=*/4);
      });
  Forward<double>& forward = run.Begin();
  const Var<double> y = positions(forward, run.tape().Full({2, 2, 3}, 0), 4);
  for (int64_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y.data()[i], run.value("weight")[4 * 3 + i % 6]);
  }
}

TEST(PositionEmbeddingTest, NoneLeavesItsInput) {
  LayerTestHarness<double> run;
  const PositionEmbedding<double> positions =
      Make<double>("kind: NONE", 3, run);
  Forward<double>& forward = run.Begin();
  const Var<double> x = run.Input({1, 2, 3});
  EXPECT_EQ(positions(forward, x, 5).data(), x.data());
}

TEST(PositionEmbeddingTest, BothTermsAreHookPoints) {
  for (const char* config :
       {"kind: NONE", "kind: SINUSOIDAL", "kind: LEARNED longest: 9"}) {
    LayerTestHarness<double> run;
    const PositionEmbedding<double> positions = Make<double>(config, 3, run);
    Forward<double>& forward = run.Begin();
    SiteValueRecorder<double> recorder({"*"});
    forward.set_hook(&recorder);
    const Var<double> x = run.Input({2, 4, 3});
    std::vector<double> sum = ValuesOf(positions(forward, x, 5));
    const auto* const tokens = recorder.Find("token_embedding");
    ASSERT_NE(tokens, nullptr);
    EXPECT_EQ(tokens->value, ValuesOf(x));
    const auto* const rows = recorder.Find("position_embedding");
    ASSERT_EQ(rows != nullptr, sum != tokens->value) << config;
    if (rows == nullptr) continue;
    EXPECT_EQ(rows->shape, Shape({4, 3}));
    for (size_t i = 0; i < sum.size(); ++i) {
      EXPECT_EQ(sum[i], tokens->value[i] + rows->value[i % 12]) << config;
    }
  }
}

TEST(PositionEmbeddingDeathTest, RefusesAPositionThatHasNoVector) {
  LayerTestHarness<double> run;
  const PositionEmbedding<double> positions =
      Make<double>("kind: LEARNED longest: 6", 3, run);
  Forward<double>& forward = run.Begin();
  EXPECT_DEATH(positions(forward, run.Input({1, 2, 3}), 5),
               "positions 5 to 6 of 6");
}

}  // namespace
}  // namespace regard
