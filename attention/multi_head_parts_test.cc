// Tests of parts of a config in a layer: normalizers, score maps, sinks, and
// norms of queries and keys.
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
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

constexpr int64_t kWidth = 4;

// Causal self-attention with two heads.
class Layer {
 public:
  explicit Layer(const std::string& attention,
                 const std::string& fields = "heads: 2", uint64_t seed = 1)
      : layer_(Registry(), Config(attention, fields), store_.Root(),
               {kWidth, kWidth, kWidth}) {
    store_.Finalize(seed);
  }

  ParameterStore<float>& store() { return store_; }
  // Sets the elements of a parameter to different values, if the parameter
  // exists.
  void Scatter(const std::string& name) {
    const auto found = store_.FindByName(name);
    if (!found.has_value()) return;
    float next = 0.5f;
    for (float& value : store_.value(*found)) value = next += 0.25f;
  }
  void Set(const std::string& name, const std::vector<float>& values) {
    const auto to = store_.value(*store_.FindByName(name));
    ASSERT_EQ(values.size(), to.size());
    std::copy(values.begin(), values.end(), to.begin());
  }
  std::vector<float> Values(const std::string& name) {
    const auto values = store_.value(*store_.FindByName(name));
    return {values.begin(), values.end()};
  }

  // Returns the outputs for two examples with `time` positions, or the value of
  // a hook point. The second example has `length` positions, and NaN after
  // them.
  std::vector<float> Run(int64_t time, int32_t length,
                         const std::string& site = "") const {
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
    CapturingHook<float> hook(site);
    if (!site.empty()) forward.set_hook(&hook);
    const std::vector<int32_t> lengths = {static_cast<int32_t>(time), length};
    const Var<float> y =
        layer_(forward, x, layer_.Prepare(forward, x, x),
               {.mask = {.key_lengths = lengths, .causal = true}});
    const Var<float> wanted = site.empty() ? y : hook[site];
    return {wanted.data(), wanted.data() + wanted.size()};
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

// The distances are -2 to 2. ALiBi multiplies their magnitudes by the negative
// slopes of two heads.
TEST(MultiHeadPartsTest, TheBiasOfDistancesIsAHookPoint) {
  const float a = std::exp2(-4.0F);
  const float b = std::exp2(-8.0F);
  for (const char* more : {"", "normalizer { sparsemax {} }"}) {
    const Layer layer(std::string("scaled_dot {} position_encoding { alibi {} "
                                  "} ") +
                      more);
    EXPECT_THAT(layer.Run(3, 3, "attention/distance_bias"),
                ElementsAre(-2 * a, -a, 0, -a, -2 * a,  //
                            -2 * b, -b, 0, -b, -2 * b));
  }
}

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

TEST(MultiHeadPartsTest, AllStateIsInTheParameters) {
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

// The blocked kernel computes only the plain layer, so the outputs may differ
// by rounding.
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

// Keys that are padding must not change any bit of the output.
TEST(MultiHeadPartsTest, PaddingChangesNoBit) {
  for (const char* part :
       {"normalizer { scalable_softmax {} }",
        "normalizer { log_length { trained_length: 2 } }",
        "normalizer { relu_squared {} }", "normalizer { sigmoid {} }",
        "map_before { top_k { keys: 2 } }",
        "map_before { talking_heads {} } map_after { talking_heads {} }"}) {
    Layer layer(std::string("dot {} ") + part);
    layer.Scatter("score.map_before.weight");
    layer.Scatter("score.map_after.weight");
    const std::vector<float> exact = layer.Run(3, 3);
    const std::vector<float> padded = layer.Run(7, 3);
    const std::vector<float> of_padded(padded.begin() + 7 * kWidth,
                                       padded.begin() + 10 * kWidth);
    EXPECT_EQ(of_padded,
              std::vector<float>(exact.begin() + 3 * kWidth, exact.end()))
        << part;
  }
}

TEST(MultiHeadPartsTest, NoneIsBitIdenticalToAnAbsentField) {
  EXPECT_EQ(Layer("dot {} map_before { none {} } map_after { none {} } "
                  "sink { none {} } forget { none {} } selection { none {} } "
                  "position_encoding { none {} }",
                  "heads: 2 query_key_norm { kind: NONE } latent { none {} }")
                .Run(5, 5),
            Layer("dot {}").Run(5, 5));
}

// `additive` is computed row by row with and without a map, so both layers take
// the same path.
TEST(MultiHeadPartsTest, IdentityMapsAreBitIdenticalToNoMaps) {
  const std::vector<float> plain = Layer("additive {}").Run(5, 5);
  for (const char* map : {"top_k { keys: 5 }", "talking_heads {}"}) {
    EXPECT_EQ(
        Layer(std::string("additive {} map_before { ") + map + " }").Run(5, 5),
        plain)
        << map;
  }
  EXPECT_THAT(Layer("additive {} map_after { talking_heads {} }").Run(5, 5),
              Pointwise(FloatNear(1e-6f), plain));
}

// Query i sees i + 1 keys, and must keep at most two of them.
TEST(MultiHeadPartsTest, TopKLeavesWeightOnTheLargestScores) {
  const Layer layer("scaled_dot {} map_before { top_k { keys: 2 } }");
  const std::vector<float> kept = layer.Run(5, 5, "attention/weights");
  const std::vector<float> all =
      Layer("scaled_dot {}").Run(5, 5, "attention/weights");
  for (int64_t row = 0; row < 2 * 2 * 5; ++row) {
    const auto of = [&](const std::vector<float>& weights) {
      return std::vector<float>(weights.begin() + row * 5,
                                weights.begin() + row * 5 + 5);
    };
    std::vector<float> sorted = of(all);
    std::sort(sorted.begin(), sorted.end());
    for (int64_t k = 0; k < 5; ++k) {
      const bool is_kept = of(all)[k] > 0 && of(all)[k] >= sorted[3];
      EXPECT_EQ(of(kept)[k] > 0, is_kept) << "row " << row << ", key " << k;
    }
  }
}

// With a matrix that swaps the heads, each head must have the weights of the
// other head. Masked keys must keep weight 0.
TEST(MultiHeadPartsTest, TalkingHeadsReadTheOtherHead) {
  const std::vector<float> plain =
      Layer("additive {}").Run(5, 5, "attention/weights");
  for (const char* place : {"map_before", "map_after"}) {
    Layer layer(std::string("additive {} ") + place + " { talking_heads {} }");
    layer.Set(std::string("score.") + place + ".weight", {0, 1, 1, 0});
    const std::vector<float> swapped = layer.Run(5, 5, "attention/weights");
    ASSERT_EQ(swapped.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      const size_t head = i / 25 % 2;
      EXPECT_NEAR(swapped[i], plain[head == 0 ? i + 25 : i - 25], 1e-6)
          << place << ", " << i;
      if (i % 5 > i / 5 % 5) {
        EXPECT_EQ(swapped[i], 0);
      }
    }
  }
}

TEST(MultiHeadPartsTest, NormsOfQueriesAndKeysAreNamedAndInitialised) {
  Layer each("dot {}", "heads: 2 key_heads: 1 query_key_norm {}");
  EXPECT_THAT(each.Values("query_norm.weight"), ElementsAre(1, 1));
  EXPECT_THAT(each.Values("key_norm.weight"), ElementsAre(1, 1));
  Layer all("dot {}",
            "heads: 2 key_heads: 1 query_key_norm { all_heads: true }");
  EXPECT_THAT(all.Values("query_norm.weight"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(all.Values("key_norm.weight"), ElementsAre(1, 1));
}

// The initial gain is 1. RMS norm makes the mean square of a head's query or
// key 1, and L2 norm makes the sum of squares 1.
TEST(MultiHeadPartsTest, EachHeadNormalizesItsQueriesAndKeys) {
  for (const char* site : {"attention/queries", "attention/keys"}) {
    const auto square = [&](const char* fields, size_t count) {
      std::vector<float> x = Layer("dot {}", fields).Run(5, 5, site);
      EXPECT_EQ(x.size(), 2u * 2 * 5 * 2);
      // The sum of squares at position 0, of the first head or of both heads.
      double sum = x[0] * x[0] + x[1] * x[1];
      if (count == 2) sum += x[10] * x[10] + x[11] * x[11];
      return sum;
    };
    EXPECT_NEAR(square("heads: 2 query_key_norm {}", 1), 2, 1e-4) << site;
    EXPECT_NEAR(square("heads: 2 query_key_norm { all_heads: true }", 2), 4,
                1e-4)
        << site;
    EXPECT_NEAR(square("heads: 2 query_key_norm { kind: L2_NORM }", 1), 1, 1e-4)
        << site;
  }
}

// A cosine score normalizes queries and keys itself, so a norm before it must
// change nothing.
TEST(MultiHeadPartsTest, ANormBeforeACosineChangesNothing) {
  const std::vector<float> plain = Layer("cosine {}").Run(5, 5);
  EXPECT_NE(Layer("dot {}", "heads: 2 query_key_norm {}").Run(5, 5),
            Layer("dot {}").Run(5, 5));
  for (const char* kind : {"RMS_NORM", "L2_NORM"}) {
    EXPECT_THAT(Layer("cosine {}", std::string("heads: 2 query_key_norm { "
                                               "epsilon: 1e-12 kind: ") +
                                       kind + " }")
                    .Run(5, 5),
                Pointwise(FloatNear(1e-5f), plain))
        << kind;
  }
}

// The norm with epsilon 1 is x / sqrt(1 + mean(x^2)), which is x if x^2 is
// negligible compared with 1.
TEST(MultiHeadPartsTest, ANormOfTinyQueriesAndKeysIsPlainAttentionToTheBit) {
  Layer plain("dot { scale { value: 1e12 } }");
  Layer normed("dot { scale { value: 1e12 } }",
               "heads: 2 query_key_norm { epsilon: 1 }");
  for (Layer* layer : {&plain, &normed}) {
    for (const char* name : {"query.weight", "key.weight"}) {
      for (float& weight :
           layer->store().value(*layer->store().FindByName(name))) {
        weight *= 1e-6f;
      }
    }
  }
  EXPECT_EQ(normed.Run(5, 5), plain.Run(5, 5));
}

}  // namespace
}  // namespace regard
