#include "attention/transformer/input_embedding.h"

#include <algorithm>
#include <cstdint>
#include <string>
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

TEST(InputEmbeddingTest, AddsThePositionToTheScaledEmbedding) {
  for (const bool scaled : {true, false}) {
    LayerTestHarness<double> run;
    TransformerConfig config = Parse<TransformerConfig>(
        "width: 4 position_embedding { kind: LEARNED longest: 6 }");
    config.set_scale_embedding(scaled);
    const InputEmbedding<double> embedding(config, /*vocabulary=*/5,
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

// The sum of the three embeddings is normalized, as in BERT. The sums 0 and 2
// must become -1 and 1, before the gain [1, 2] and the bias [0, 10].
TEST(InputEmbeddingTest, TypesAreAddedBeforeTheNorm) {
  LayerTestHarness<double> run;
  const InputEmbedding<double> embedding(
      Parse<TransformerConfig>(
          "width: 2 scale_embedding: false embedding_norm: true norm { "
          "epsilon: 1e-30 } position_embedding { kind: LEARNED longest: 2 }"),
      /*vocabulary=*/1, run.store().Root(), /*shared=*/{}, /*types=*/2);
  Forward<double>& forward = run.Begin();
  const auto set = [&](const std::string& name, std::vector<double> values) {
    std::copy(values.begin(), values.end(), run.value(name).begin());
  };
  set("embedding.weight", {1, 1});
  set("position_embedding.weight", {0, 0, 1, 1});
  set("type_embedding.weight", {-1, 1, 1, -1});
  set("embedding_norm.weight", {1, 2});
  set("embedding_norm.bias", {0, 10});
  const std::vector<int32_t> ids = {0, 0};
  EXPECT_EQ(ValuesOf(embedding(forward, ids, 1, 0)),
            std::vector<double>({-1, 12, -1, 12}));
  EXPECT_EQ(ValuesOf(embedding(forward, ids, 1, 0, std::vector<int32_t>{1, 0})),
            std::vector<double>({1, 8, -1, 12}));
}

TEST(InputEmbeddingTest, GradientsAgreeWithDifferences) {
  LayerTestHarness<double> run;
  const InputEmbedding<double> embedding(
      Parse<TransformerConfig>("width: 4 embedding_dropout: 0.3"), 5,
      run.store().Root());
  run.tape().set_training(true);
  CheckLayerGradients(
      run, {}, [&](Forward<double>& forward, absl::Span<const Var<double>>) {
        return embedding(forward, kIds, 2, 0);
      });
}

TEST(InputEmbeddingTest, GradientsOfTypesAndTheNorm) {
  for (const std::vector<int32_t>& types :
       {std::vector<int32_t>{2, 0, 2, 0, 0, 0}, std::vector<int32_t>{}}) {
    LayerTestHarness<double> run;
    const InputEmbedding<double> embedding(
        Parse<TransformerConfig>("width: 3 embedding_norm: true "
                                 "position_embedding { kind: LEARNED }"),
        5, run.store().Root(), /*shared=*/{}, /*types=*/3);
    CheckLayerGradients(
        run, {}, [&](Forward<double>& forward, absl::Span<const Var<double>>) {
          return embedding(forward, kIds, 2, 0, types);
        });
  }
}

TEST(InputEmbeddingTest, SharesAWeight) {
  LayerTestHarness<double> run;
  const EmbeddingLayer<double> other(run.store().Root().Sub("other"), 5, 4);
  const InputEmbedding<double> embedding(Parse<TransformerConfig>("width: 4"),
                                         5, run.store().Root(), other.weight());
  EXPECT_EQ(run.store().num_elements(), 5 * 4);
  EXPECT_EQ(*run.store().FindByName("embedding.weight"), other.weight());
}

TEST(InputEmbeddingDeathTest, RefusesAWeightOfAnotherShape) {
  LayerTestHarness<double> run;
  const EmbeddingLayer<double> other(run.store().Root().Sub("other"), 6, 4);
  EXPECT_DEATH(InputEmbedding<double>(Parse<TransformerConfig>("width: 4"), 5,
                                      run.store().Root(), other.weight()),
               "cannot share a weight \\[6, 4\\]");
}

}  // namespace
}  // namespace regard
