#include "seq2seq/transformer_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "seq2seq/output_head.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

constexpr char kTied[] = "tied_embeddings: TARGET_OUTPUT ";
constexpr char kTransform[] = "output_transform: true ";

// A head for a vocabulary of three words, and the embedding whose weight it may
// share.
template <typename T>
struct Head {
  explicit Head(const std::string& fields, int width = 2)
      : embedding(run.store().Root().Sub("embedding"), 3, width),
        head(ConfigOf(fields, width), embedding.weight(), kNoSpecialIds,
             run.store().Root().Sub("output")) {}

  static TransformerConfig ConfigOf(const std::string& fields, int width) {
    auto config = Parse<TransformerConfig>("norm { epsilon: 1e-12 } " + fields);
    config.set_width(width);
    return config;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& info : run.store().parameters()) {
      if (info.name != "embedding.weight") names.push_back(info.name);
    }
    return names;
  }
  void Set(const std::string& name, std::vector<T> values) {
    std::copy(values.begin(), values.end(), run.value(name).begin());
  }

  mutable LayerTestHarness<T> run;
  EmbeddingLayer<T> embedding;
  TransformerHead<T> head;
};

TEST(TransformerHeadTest, TheConfigDeterminesItsParts) {
  EXPECT_THAT(Head<float>("").Names(),
              ElementsAre("output.weight", "output.bias"));
  EXPECT_THAT(Head<float>("output_bias: false").Names(),
              ElementsAre("output.weight"));
  EXPECT_THAT(Head<float>(kTied).Names(), ElementsAre());
  EXPECT_THAT(
      Head<float>(std::string(kTied) + kTransform).Names(),
      ElementsAre("output.transform.weight", "output.transform.bias",
                  "output.norm.weight", "output.norm.bias", "output.bias"));
  EXPECT_THAT(
      Head<float>(std::string(kTransform) + "output_bias: false").Names(),
      ElementsAre("output.transform.weight", "output.transform.bias",
                  "output.norm.weight", "output.norm.bias", "output.weight"));
}

// V x + c = (-5, 3). ReLU turns it into (0, 3), and the norm into (-1, 1).
TEST(TransformerHeadTest, LogitsByHand) {
  Head<double> head(std::string(kTied) + kTransform);
  Forward<double>& forward = head.run.Begin();
  head.Set("output.transform.weight", {-1, -2, 1, 1});
  head.Set("output.transform.bias", {0, 0});
  head.Set("output.norm.weight", {1, 2});
  head.Set("output.norm.bias", {0, 1});
  head.Set("embedding.weight", {1, 0, 0, 1, 2, 2});
  head.Set("output.bias", {0, 10, 20});
  const std::vector<double> logits = ValuesOf(
      head.head.Logits(forward, forward.tape().Constant({1, 2}, {1, 2})));
  EXPECT_NEAR(logits[0], -1, 1e-9);
  EXPECT_NEAR(logits[1], 3 + 10, 1e-9);
  EXPECT_NEAR(logits[2], 2 * (-1 + 3) + 20, 1e-9);
}

TEST(TransformerHeadTest, GradientsAgreeWithDifferences) {
  for (const char* activation : {"GELU", "SWIGLU"}) {
    Head<double> head(std::string(kTied) + kTransform +
                          "feed_forward { activation: " + activation + " }",
                      /*width=*/3);
    CheckLayerGradients(head.run, {{2, 3}},
                        [&](Forward<double>& forward, auto inputs) {
                          return head.head.Logits(forward, inputs[0]);
                        });
  }
}

TEST(TransformerHeadTest, TheLossMatchesItsLogits) {
  for (const char* fields : {"", kTied, kTransform}) {
    Head<double> head(fields);
    Forward<double>& forward = head.run.Begin();
    const Var<double> x = head.run.Input({2, 2});
    const std::vector<int32_t> targets = {2, 0};
    const std::vector<double> logits = ValuesOf(head.head.Logits(forward, x));
    double expected = 0;
    for (size_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 3; ++i) sum += std::exp(logits[3 * row + i]);
      expected += std::log(sum) - logits[3 * row + targets[row]];
    }
    EXPECT_NEAR(head.head.Loss(forward, x, targets, 0).item(), expected, 1e-12)
        << fields;
  }
}

}  // namespace
}  // namespace regard
