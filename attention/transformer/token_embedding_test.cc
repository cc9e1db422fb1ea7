#include "attention/transformer/token_embedding.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/layers/embedding.h"

namespace regard {
namespace {

const std::vector<int32_t> kIds = {4, 1, 0, 1, 1, 3};

TEST(TokenEmbeddingTest, IsTheScaledEmbeddingPlusThatOfThePosition) {
  for (const bool scaled : {true, false}) {
    LayerRun<double> run;
    TransformerConfig config = Parse<TransformerConfig>(
        "width: 4 position_embedding { kind: LEARNED longest: 6 }");
    config.set_scale_embedding(scaled);
    const TokenEmbedding<double> embedding(config, /*vocabulary=*/5,
                                           run.store().Root());
    EXPECT_EQ(run.store().num_elements(), 5 * 4 + 6 * 4);
    EXPECT_EQ(embedding.longest_position(), 6);
    Forward<double>& forward = run.Begin();
    const Var<double> x = embedding(forward, kIds, /*batch=*/2, /*first=*/2);
    ASSERT_EQ(x.shape(), Shape({2, 3, 4}));
    for (int64_t row = 0; row < 6; ++row) {
      for (int64_t j = 0; j < 4; ++j) {
        const double token = run.value("embedding.weight")[kIds[row] * 4 + j];
        const double position =
            run.value("position_embedding.weight")[(2 + row % 3) * 4 + j];
        EXPECT_EQ(x.data()[row * 4 + j],
                  (scaled ? 2 * token : token) + position);
      }
    }
  }
}

TEST(TokenEmbeddingTest, GradientsAgreeWithDifferences) {
  LayerRun<double> run;
  const TokenEmbedding<double> embedding(
      Parse<TransformerConfig>("width: 4 embedding_dropout: 0.3"), 5,
      run.store().Root());
  run.tape().set_training(true);
  CheckLayerGradients(
      run, {}, [&](Forward<double>& forward, absl::Span<const Var<double>>) {
        return embedding(forward, kIds, 2, 0);
      });
}

TEST(TokenEmbeddingTest, SharesAWeight) {
  LayerRun<double> run;
  const EmbeddingLayer<double> other(run.store().Root().Sub("other"), 5, 4);
  const TokenEmbedding<double> embedding(Parse<TransformerConfig>("width: 4"),
                                         5, run.store().Root(), other.weight());
  EXPECT_EQ(run.store().num_elements(), 5 * 4);
  EXPECT_EQ(*run.store().FindByName("embedding.weight"), other.weight());
}

TEST(TokenEmbeddingDeathTest, RefusesAWeightOfAnotherShape) {
  LayerRun<double> run;
  const EmbeddingLayer<double> other(run.store().Root().Sub("other"), 6, 4);
  EXPECT_DEATH(TokenEmbedding<double>(Parse<TransformerConfig>("width: 4"), 5,
                                      run.store().Root(), other.weight()),
               "cannot share a weight \\[6, 4\\]");
}

}  // namespace
}  // namespace regard
