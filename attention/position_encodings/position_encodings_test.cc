#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/position_encoding.h"
#include "attention/position_encodings/built_in_position_encodings.h"
#include "attention/position_encodings/position_encoding.pb.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pointwise;

constexpr const char* kEncodings[] = {
    "rotary {}",
    "rotary { style: INTERLEAVED }",
    "rotary { width: 2 base: 100 }",
    "alibi {}",
    "relative_buckets { buckets: 8 max_distance: 12 }",
    "relative_buckets { buckets: 6 max_distance: 9 bidirectional: false }"};

PositionEncodingConfig Parse(const std::string& text) {
  PositionEncodingConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

PositionEncodingRegistry Registry() {
  PositionEncodingRegistry registry;
  RegisterBuiltInPositionEncodings(registry);
  return registry;
}

// An encoding whose parameters, if any, are 0, 0.1, 0.2, ...
template <typename T>
class Encoding {
 public:
  explicit Encoding(const std::string& config, int64_t heads = 2,
                    int64_t width = 4)
      : encoding_(Registry().Create<T>(
            Parse(config), store_.Root(),
            ScoreWidths{.heads = heads, .query = width, .key = width})),
        forward_(tape_, Finalize(), nullptr) {
    forward_.BeginStep();
  }

  const PositionEncoding<T>& operator*() const { return *encoding_; }
  Forward<T>& forward() { return forward_; }

  // Encodes rows of 4 elements, with one head.
  std::vector<T> Encode(std::vector<T> x, int64_t first, int64_t step = 1) {
    const auto n = static_cast<int64_t>(x.size()) / 4;
    const Var<T> turned = encoding_->Encode(
        forward_, tape_.Constant({1, 1, n, 4}, x), first, step);
    return {turned.span().begin(), turned.span().end()};
  }

  std::vector<T> Bias(int64_t lowest, int64_t count) {
    const Var<T> bias = encoding_->Bias(forward_, lowest, count);
    return {bias.span().begin(), bias.span().end()};
  }

 private:
  ParameterStore<T>& Finalize() {
    store_.Finalize(/*seed=*/1);
    for (size_t i = 0; i < store_.values().size(); ++i) {
      store_.values()[i] = static_cast<T>(i) / 10;
    }
    return store_;
  }

  ParameterStore<T> store_;
  std::unique_ptr<PositionEncoding<T>> encoding_;
  Tape<T> tape_;
  Forward<T> forward_;
};

TEST(RotaryTest, TurnsPairsByThePosition) {
  const double a = 3;         // angle of pair 0 at position 3
  const double b = 3 * 0.01;  // angle of pair 1, with 10000^(-2 / 4) = 0.01
  // HALF must rotate the pairs of elements (1, 3) and (2, 4).
  EXPECT_THAT(
      Encoding<double>("rotary {}").Encode({1, 2, 3, 4}, 3),
      ElementsAre(DoubleNear(std::cos(a) - 3 * std::sin(a), 1e-14),
                  DoubleNear(2 * std::cos(b) - 4 * std::sin(b), 1e-14),
                  DoubleNear(3 * std::cos(a) + std::sin(a), 1e-14),
                  DoubleNear(4 * std::cos(b) + 2 * std::sin(b), 1e-14)));
  // INTERLEAVED must rotate the pairs of elements (1, 2) and (3, 4).
  EXPECT_THAT(
      Encoding<double>("rotary { style: INTERLEAVED }").Encode({1, 2, 3, 4}, 3),
      ElementsAre(DoubleNear(std::cos(a) - 2 * std::sin(a), 1e-14),
                  DoubleNear(2 * std::cos(a) + std::sin(a), 1e-14),
                  DoubleNear(3 * std::cos(b) - 4 * std::sin(b), 1e-14),
                  DoubleNear(4 * std::cos(b) + 3 * std::sin(b), 1e-14)));
}

TEST(RotaryTest, APartialWidthLeavesTheOtherDimensions) {
  EXPECT_THAT(
      Encoding<double>("rotary { width: 2 }").Encode({1, 2, 3, 4}, 1),
      ElementsAre(DoubleNear(std::cos(1) - 2 * std::sin(1), 1e-15),
                  DoubleNear(2 * std::cos(1) + std::sin(1), 1e-15), 3, 4));
}

TEST(RotaryTest, PositionZeroChangesNothing) {
  EXPECT_THAT(Encoding<double>("rotary {}").Encode({1, 2, 3, 4}, 0),
              ElementsAre(1, 2, 3, 4));
}

TEST(RotaryTest, AlternativesHaveTheSameRotation) {
  Encoding<double> rotary("rotary {}");
  const std::vector<double> one = rotary.Encode({1, 2, 3, 4}, 5);
  std::vector<double> both = one;
  both.insert(both.end(), one.begin(), one.end());
  EXPECT_THAT(rotary.Encode({1, 2, 3, 4, 1, 2, 3, 4}, 5, /*step=*/0),
              ElementsAreArray(both));
}

// Inner products must depend only on the distance, even at large positions.
TEST(RotaryTest, InnerProductsDependOnTheDistance) {
  for (const char* config : {"rotary {}", "rotary { style: INTERLEAVED }"}) {
    Encoding<double> rotary(config);
    const auto product = [&](int64_t query, int64_t key) {
      const std::vector<double> q = rotary.Encode({1, -2, 0.5, 3}, query);
      const std::vector<double> k = rotary.Encode({2, 1, -1, 0.25}, key);
      return q[0] * k[0] + q[1] * k[1] + q[2] * k[2] + q[3] * k[3];
    };
    EXPECT_NEAR(product(7, 3), product(100004, 100000), 1e-9) << config;
    EXPECT_GT(std::abs(product(7, 3) - product(7, 4)), 1e-3) << config;
  }
}

// Layers must share a table of angles if and only if their options and
// positions are equal.
TEST(RotaryTest, LayersShareTheAnglesOfAStep) {
  const auto turn = [](Tape<double>& tape, const std::string& config,
                       int64_t first, int64_t step, int64_t rows) {
    ParameterStore<double> store;
    const auto encoding = Registry().Create<double>(
        Parse(config), store.Root(),
        ScoreWidths{.heads = 2, .query = 4, .key = 4});
    store.Finalize(0);
    Forward<double> forward(tape, store, nullptr);
    const Var<double> y =
        encoding->Encode(forward, tape.Full({1, 2, rows, 4}, 1.0), first, step);
    return std::vector<double>(y.span().begin(), y.span().end());
  };
  Tape<double> shared;
  for (int round = 0; round < 2; ++round) {
    const size_t used = shared.leaf_arena().used();
    for (const char* config :
         {"rotary {}", "rotary { width: 2 }", "rotary { base: 100 }"}) {
      for (const int64_t first : {0, 3}) {
        Tape<double> own;
        EXPECT_EQ(turn(shared, config, first, 1, 5),
                  turn(own, config, first, 1, 5))
            << config;
      }
    }
    Tape<double> own;
    EXPECT_EQ(turn(shared, "rotary {}", 3, 0, 5),
              turn(own, "rotary {}", 3, 0, 5));
    Tape<double> other;
    EXPECT_EQ(turn(shared, "rotary {}", 3, 1, 4),
              turn(other, "rotary {}", 3, 1, 4));
    EXPECT_EQ(shared.leaf_arena().used() > used, round == 0);
  }
}

// At a large position, the rotated rows in float and double must agree.
TEST(RotaryTest, LargePositionsStayAccurate) {
  const std::vector<float> got =
      Encoding<float>("rotary {}").Encode({1, 2, 3, 4}, 1000000);
  const std::vector<double> expected =
      Encoding<double>("rotary {}").Encode({1, 2, 3, 4}, 1000000);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
}

TEST(AlibiTest, SlopesMatchThePaper) {
  // The distance is -1: the key is one position before the query.
  EXPECT_THAT(Encoding<double>("alibi {}", 8).Bias(-1, 1),
              ElementsAre(-1 / 2.0, -1 / 4.0, -1 / 8.0, -1 / 16.0, -1 / 32.0,
                          -1 / 64.0, -1 / 128.0, -1 / 256.0));
  // With 6 heads, the first four slopes are the slopes for 4 heads. The last
  // two slopes are the 1st and the 3rd slope for 8 heads.
  EXPECT_THAT(Encoding<double>("alibi {}", 6).Bias(-1, 1),
              ElementsAre(-1 / 4.0, -1 / 16.0, -1 / 64.0, -1 / 256.0, -1 / 2.0,
                          -1 / 8.0));
  EXPECT_THAT(Encoding<double>("alibi {}", 1).Bias(-1, 1),
              ElementsAre(-1 / 256.0));
}

TEST(AlibiTest, GrowsWithTheDistanceOnBothSides) {
  EXPECT_THAT(Encoding<double>("alibi {}", 1).Bias(-2, 5),
              Pointwise(DoubleEq(),
                        {-2 / 256.0, -1 / 256.0, 0.0, -1 / 256.0, -2 / 256.0}));
}

// The expected buckets come from the authors' _relative_position_bucket().
TEST(RelativeBucketsTest, BucketsMatchT5) {
  const auto buckets = [](const char* config, std::vector<int64_t> distances) {
    Encoding<double> encoding(config, /*heads=*/1);
    std::vector<int64_t> found;
    for (const int64_t d : distances) {
      found.push_back(std::lround(encoding.Bias(d, 1)[0] * 10));
    }
    return found;
  };
  EXPECT_THAT(
      buckets("relative_buckets {}", {0, -1, 1, -7, -8, -11, -12, -16, -64,
                                      -127, -500, 7, 8, 12, 90, 91, 600}),
      ElementsAreArray(
          {0, 1, 17, 7, 8, 8, 9, 10, 14, 15, 15, 23, 24, 25, 30, 31, 31}));
  EXPECT_THAT(buckets("relative_buckets { bidirectional: false }",
                      {3, 0, -1, -15, -16, -19, -30, -60, -112, -113, -1000}),
              ElementsAreArray({0, 0, 1, 15, 16, 17, 20, 26, 30, 31, 31}));
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const char* style : {"", "style: INTERLEAVED", "width: 2"}) {
    for (const int64_t step : {1, 0}) {
      cases.push_back(MakeCase(
          "Rotary", style, {{{2, 2, 3, 4}}},
          [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
            static ParameterStore<T>* const store = [] {
              auto* const made = new ParameterStore<T>();
              made->Finalize(1);
              return made;
            }();
            Forward<T> forward(tape, *store, nullptr);
            const auto rotary = Registry().Create<T>(
                Parse(std::string("rotary {") + style + "}"), store->Root(),
                ScoreWidths{.heads = 2, .query = 4, .key = 4});
            return rotary->Encode(forward, in[0], 5, step);
          }));
    }
  }
  for (const bool bidirectional : {true, false}) {
    cases.push_back(MakeCase(
        "RelativeBuckets", bidirectional ? "both" : "causal", {{{2, 8}}},
        [=]<typename T>(Tape<T>& tape, absl::Span<const Var<T>> in) {
          static ParameterStore<T>* const store = new ParameterStore<T>();
          static PositionEncoding<T>* encodings[2] = {};
          if (encodings[0] == nullptr) {
            for (const int i : {0, 1}) {
              encodings[i] =
                  Registry()
                      .Create<T>(Parse(std::string(
                                           "relative_buckets { buckets: 8 "
                                           "max_distance: 12 bidirectional: ") +
                                       (i == 0 ? "true }" : "false }")),
                                 store->Root().Sub(i == 0 ? "both" : "causal"),
                                 ScoreWidths{.heads = 2, .query = 4, .key = 4})
                      .release();
            }
            store->Finalize(1);
          }
          const Var<T> both[] = {in[0], in[0]};
          Forward<T> forward(tape, *store, absl::MakeConstSpan(both));
          return encodings[bidirectional ? 0 : 1]->Bias(forward, -9, 20);
        }));
  }
  return cases;
}

TEST(PositionEncodingsTest, Gradients) { CheckGradients(Cases()); }

// The bits of an encoded row must depend only on the row and its position. A
// cache stores encoded rows and reuses them in later calls.
TEST(PositionEncodingsTest, RowsAreEncodedIndependently) {
  for (const char* config : kEncodings) {
    Encoding<float> encoding(config);
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const std::vector<float> together = encoding.Encode(x, 4);
    EXPECT_EQ((*encoding).IsOnlyBias(), together == x) << config;
    for (int64_t i = 0; i < 3; ++i) {
      const std::vector<float> one(x.begin() + i * 4, x.begin() + i * 4 + 4);
      EXPECT_THAT(encoding.Encode(one, 4 + i),
                  ElementsAreArray(together.begin() + i * 4,
                                   together.begin() + i * 4 + 4))
          << config;
    }
  }
}

TEST(PositionEncodingsTest, BiasesDependOnlyOnTheDistance) {
  for (const char* config : kEncodings) {
    Encoding<float> encoding(config);
    if (!(*encoding).Bias(encoding.forward(), 0, 1).has_value()) continue;
    const std::vector<float> all = encoding.Bias(-20, 41);
    for (const int64_t lowest : {-20, -3, 0, 7}) {
      const std::vector<float> some = encoding.Bias(lowest, 5);
      for (int64_t h = 0; h < 2; ++h) {
        for (int64_t i = 0; i < 5; ++i) {
          EXPECT_EQ(some[h * 5 + i], all[h * 41 + lowest + 20 + i]) << config;
        }
      }
    }
  }
}

std::string FirstProblem(const std::string& config, int64_t width) {
  ConfigProblems problems;
  Registry().ValidateChoice(
      Parse(config), problems,
      ScoreWidths{.heads = 2, .query = width, .key = width});
  return problems.ok() ? "" : problems.problems()[0].path;
}

TEST(PositionEncodingsTest, WrongOptionsAreProblemsAtTheirPath) {
  for (const char* config : kEncodings) EXPECT_EQ(FirstProblem(config, 4), "");
  EXPECT_EQ(FirstProblem("rotary {}", 5), "rotary.width");
  EXPECT_EQ(FirstProblem("rotary { width: 6 }", 4), "rotary.width");
  EXPECT_EQ(FirstProblem("rotary { width: 3 }", 4), "rotary.width");
  EXPECT_EQ(FirstProblem("rotary { base: 1 }", 4), "rotary.base");
  EXPECT_EQ(FirstProblem("relative_buckets { buckets: 7 }", 4),
            "relative_buckets.buckets");
  EXPECT_EQ(FirstProblem("relative_buckets { max_distance: 8 }", 4),
            "relative_buckets.max_distance");
  EXPECT_EQ(FirstProblem("", 4), "");
}

}  // namespace
}  // namespace regard
