// Parts of a config in a layer: normalizers, score maps, sinks, and norms of
// queries and keys.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr int64_t kWidth = 4;

// Causal self-attention of two heads.
class Layer {
 public:
  explicit Layer(const std::string& attention,
                 const std::string& fields = "heads: 2", uint64_t seed = 1)
      : layer_(Registry(), Config(attention, fields), store_.Root(),
               {kWidth, kWidth, kWidth}) {
    store_.Finalize(seed);
  }

  ParameterStore<float>& store() { return store_; }
  std::vector<float> Values(const std::string& name) {
    const auto values = store_.value(*store_.FindByName(name));
    return {values.begin(), values.end()};
  }

  // Outputs of two examples of `time` positions. The second has only `length`
  // of them, and is NaN beyond.
  std::vector<float> Run(int64_t time, int32_t length) const {
    Tape<float> tape;
    Forward<float> forward(tape, store_, nullptr);
    forward.BeginStep();
    Var<float> x = tape.Constant({2, time, kWidth});
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t position = i / kWidth % time;
      const int64_t example = i / kWidth / time;
      x.data()[i] = position < (example == 0 ? time : length)
                        ? std::sin(static_cast<float>(7 * position +
                                                      3 * example + i % kWidth))
                        : std::numeric_limits<float>::quiet_NaN();
    }
    const std::vector<int32_t> lengths = {static_cast<int32_t>(time), length};
    const Var<float> y =
        layer_(forward, x, layer_.Prepare(forward, x, x),
               {.mask = {.key_lengths = lengths, .causal = true}});
    return {y.data(), y.data() + y.size()};
  }

 private:
  static AttentionRegistry Registry() {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    return scorers;
  }
  static MultiHead Config(const std::string& attention,
                          const std::string& fields) {
    MultiHead config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        fields + " attention { " + attention + " }", &config));
    return config;
  }

  ParameterStore<float> store_;
  MultiHeadAttention<float> layer_;
};

TEST(MultiHeadPartsTest, ParametersAreNamedAndInitialised) {
  Layer layer("dot {} normalizer { scalable_softmax { bias: 0.25 } }");
  EXPECT_THAT(layer.Values("score.normalizer.scale"),
              ElementsAre(0.43f, 0.43f));
  EXPECT_THAT(layer.Values("score.normalizer.bias"), ElementsAre(0.25f, 0.25f));
  Layer without("dot {} normalizer { scalable_softmax {} }");
  EXPECT_FALSE(without.store().FindByName("score.normalizer.bias").has_value());
  Layer plain("dot {}");
  EXPECT_EQ(without.store().num_elements(), plain.store().num_elements() + 2);
}

TEST(MultiHeadPartsTest, ParametersAreAllThereIsToSave) {
  const char* const config =
      "dot {} normalizer { scalable_softmax { bias: 1 } }";
  Layer saved(config);
  Layer loaded(config, "heads: 2", /*seed=*/2);
  for (const char* name : {"score.normalizer.scale", "score.normalizer.bias"}) {
    auto values = saved.store().value(*saved.store().FindByName(name));
    values[0] = 2;
    values[1] = -1;
  }
  EXPECT_NE(loaded.Run(5, 5), saved.Run(5, 5));
  for (const ParameterInfo& info : saved.store().parameters()) {
    const auto from = saved.Values(info.name);
    std::copy(
        from.begin(), from.end(),
        loaded.store().value(*loaded.store().FindByName(info.name)).begin());
  }
  EXPECT_EQ(loaded.Run(5, 5), saved.Run(5, 5));
}

// The blocked kernel computes the other layer.
TEST(MultiHeadPartsTest, ALayerWithAFactorOfOneIsPlainAttention) {
  EXPECT_THAT(
      Layer(
          "scaled_dot {} normalizer { scalable_softmax { scale: 0 bias: 1 } }")
          .Run(5, 5),
      Pointwise(FloatNear(1e-6f), Layer("scaled_dot {}").Run(5, 5)));
  EXPECT_THAT(
      Layer("scaled_dot {} normalizer { log_length { trained_length: 5 } }")
          .Run(5, 5),
      Pointwise(FloatNear(1e-6f), Layer("scaled_dot {}").Run(5, 5)));
}

// Padding counts for no n.
TEST(MultiHeadPartsTest, PaddingChangesNoBit) {
  for (const char* normalizer :
       {"scalable_softmax {}", "log_length { trained_length: 2 }",
        "relu_squared {}", "sigmoid {}"}) {
    const Layer layer(std::string("dot {} normalizer { ") + normalizer + " }");
    const std::vector<float> exact = layer.Run(3, 3);
    const std::vector<float> padded = layer.Run(7, 3);
    const std::vector<float> of_padded(padded.begin() + 7 * kWidth,
                                       padded.begin() + 10 * kWidth);
    EXPECT_EQ(of_padded,
              std::vector<float>(exact.begin() + 3 * kWidth, exact.end()))
        << normalizer;
  }
}

}  // namespace
}  // namespace regard
