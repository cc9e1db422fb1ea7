// Tests the formulas and parameters of mixers, and the errors for invalid
// configs.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/layer_state.h"
#include "attention/mixer_layer.h"
#include "attention/mixers/built_in_mixers.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

constexpr int64_t kWidth = 8;

MixerConfig Parse(const std::string& text) {
  MixerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

std::vector<std::string> ProblemsOf(const std::string& text) {
  ConfigProblems problems;
  BuiltInMixers().ValidateChoice(Parse(text), problems, kWidth);
  std::vector<std::string> all;
  for (const auto& problem : problems.problems()) {
    all.push_back(problem.path + ": " + problem.message);
  }
  return all;
}

// A mixer of width 8 with random parameters.
class LayerTestHarness {
 public:
  explicit LayerTestHarness(const std::string& config)
      : layer_(BuiltInMixers(), Parse(config),
               {store_.Root(), kWidth, SlotScope(slots_, "layer")}) {
    store_.Finalize(/*seed=*/1);
    forward_ = std::make_unique<Forward<double>>(tape_, store_, nullptr);
    forward_->BeginStep();
  }

  Var<double> X(int64_t time) {
    const Var<double> x = tape_.Constant({1, time, kWidth});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = static_cast<double>(i * 7 % 13 - 6) / 5;
    }
    return x;
  }
  // Multiplies x by the weight of projection `name` and splits the result into
  // two heads: [1, 2, time, width].
  Var<double> Heads(Var<double> x, const std::string& name) {
    const Var<double> y = Linear(x, Value(name + ".weight"), {});
    return Permute(y.Reshape({1, x.dim(1), 2, y.dim(2) / 2}), {0, 2, 1, 3});
  }
  Var<double> Value(const std::string& name) {
    return (*forward_)[*store_.FindByName(name)];
  }
  Var<double> Run(Var<double> x) { return layer_(*forward_, x, {}); }
  MixerTerms<double> Project(Var<double> x) {
    return layer_.mixer().Project(*forward_, x, 0, nullptr);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& info : store_.parameters()) {
      names.push_back(info.name + " " + info.shape.ToString());
    }
    return names;
  }

 private:
  ParameterStore<double> store_;
  StateSlotNames slots_;
  MixerLayer<double> layer_;
  Tape<double> tape_;
  std::unique_ptr<Forward<double>> forward_;
};

void ExpectNear(Var<double> got, Var<double> expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (int64_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got.data()[i], expected.data()[i], 1e-12) << "element " << i;
  }
}

Var<double> Merged(Var<double> x) {
  return Permute(x, {0, 2, 1, 3})
      .Reshape({x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

// Without a decay and a feature map, the mixer must equal causal attention
// whose weights are the scores.
TEST(LinearAttentionTest, IsAttentionWithoutSoftmax) {
  LayerTestHarness run(
      "linear_attention { heads: 2 feature_map: IDENTITY bias: false }");
  constexpr int64_t kTime = 70;
  const Var<double> x = run.X(kTime);
  const Var<double> weights =
      MatMul(run.Heads(x, "query"), run.Heads(x, "key"), {.b = true}) / 2;
  for (int64_t row = 0; row < weights.rows(); ++row) {
    for (int64_t s = row % kTime + 1; s < kTime; ++s) weights.at(row, s) = 0;
  }
  const Var<double> contexts = MatMul(weights, run.Heads(x, "value"));
  ExpectNear(run.Run(x),
             Linear(Merged(contexts), run.Value("output.weight"), {}));
}

// With one position, the normalized weight must be 1.
TEST(LinearAttentionTest, NormalisedWeightsSumToOne) {
  LayerTestHarness run("linear_attention { heads: 2 bias: false }");
  const Var<double> x = run.X(1);
  ExpectNear(run.Run(x), Linear(Linear(x, run.Value("value.weight"), {}),
                                run.Value("output.weight"), {}));
}

TEST(LinearAttentionTest, HasTheParametersOfItsOptions) {
  EXPECT_THAT(
      LayerTestHarness("linear_attention { heads: 2 }").names(),
      ElementsAre("query.weight [8, 8]", "query.bias [8]", "key.weight [8, 8]",
                  "key.bias [8]", "value.weight [8, 8]", "value.bias [8]",
                  "output.weight [8, 8]", "output.bias [8]"));
  EXPECT_THAT(LayerTestHarness("retention { heads: 2 }").names(),
              ElementsAre("query.weight [8, 8]", "key.weight [8, 8]",
                          "value.weight [16, 8]", "output.weight [8, 16]",
                          "gate.weight [16, 8]", "norm.weight [8]"));
  EXPECT_THAT(LayerTestHarness("gated_linear { heads: 2 }").names(),
              ElementsAre("query.weight [4, 8]", "key.weight [4, 8]",
                          "value.weight [8, 8]", "output.weight [8, 8]",
                          "gate.weight [8, 8]", "norm.weight [4]",
                          "narrow_decay.weight [16, 8]", "decay.weight [4, 16]",
                          "decay.bias [4]"));
  EXPECT_THAT(
      LayerTestHarness("mamba2 { heads: 2 key_width: 3 }").names(),
      ElementsAre("query.weight [3, 8]", "key.weight [3, 8]",
                  "value.weight [16, 8]", "output.weight [8, 16]",
                  "gate.weight [16, 8]", "norm.weight [16]", "skip [2, 1, 1]",
                  "decay.weight [2, 8]", "step_bias [2]", "decay_rate [2]"));
}

TEST(ShortConvolutionTest, HasTheParametersOfItsOptions) {
  EXPECT_THAT(
      LayerTestHarness("linear_attention { heads: 2 bias: false convolution {} "
                       "}")
          .names(),
      ElementsAre("query.weight [8, 8]",
                  "query_convolution.weight [8, "
                  "4]",
                  "key.weight [8, 8]", "key_convolution.weight [8, 4]",
                  "value.weight [8, 8]", "value_convolution.weight [8, 4]",
                  "output.weight [8, 8]"));
  EXPECT_THAT(
      LayerTestHarness("linear_attention { heads: 2 convolution { width: 0 } }")
          .names(),
      SizeIs(8));
  EXPECT_THAT(
      LayerTestHarness(
          "mamba2 { heads: 2 key_width: 3 convolution { width: 2 bias: "
          "true } }")
          .names(),
      IsSupersetOf(
          {"query_convolution.weight [3, 2]", "query_convolution.bias [3]",
           "value_convolution.weight [16, 2]", "value_convolution.bias [16]"}));
}

// If the tap at the position itself is 1 and all other taps are 0, the
// convolution must return x sigmoid(x). Without a convolution, mamba2 applies
// this function only to queries and keys.
TEST(ShortConvolutionTest, AConvolutionOfOneTapIsTheActivation) {
  LayerTestHarness run("mamba2 { heads: 2 key_width: 3 convolution {} }");
  for (const char* name : {"query", "key", "value"}) {
    const Var<double> taps =
        run.Value(std::string(name) + "_convolution.weight");
    for (int64_t c = 0; c < taps.rows(); ++c) {
      for (int64_t i = 0; i < 4; ++i) taps.at(c, i) = i == 3 ? 1 : 0;
    }
  }
  LayerTestHarness plain("mamba2 { heads: 2 key_width: 3 }");
  const Var<double> x = run.X(70);
  const auto got = run.Project(x);
  const auto expected = plain.Project(plain.X(70));
  ExpectNear(got.queries, expected.queries);
  ExpectNear(got.keys, expected.keys);
  const Var<double> values = run.Heads(x, "value");
  ExpectNear(got.values, values * Sigmoid(values));
}

TEST(DeltaTest, HasTheParametersOfItsOptions) {
  EXPECT_THAT(LayerTestHarness("delta { heads: 2 }").names(),
              ElementsAre("query.weight [8, 8]", "key.weight [8, 8]",
                          "value.weight [8, 8]", "rate.weight [2, 8]",
                          "output.weight [8, 8]", "norm.weight [4]"));
  EXPECT_THAT(
      LayerTestHarness("delta_net { heads: 2 }").names(),
      ElementsAre("query.weight [8, 8]", "query_convolution.weight [8, 4]",
                  "key.weight [8, 8]", "key_convolution.weight [8, 4]",
                  "value.weight [8, 8]", "value_convolution.weight [8, 4]",
                  "rate.weight [2, 8]", "output.weight [8, 8]",
                  "norm.weight [4]"));
  EXPECT_THAT(
      LayerTestHarness("gated_delta { heads: 2 convolution { width: 0 } }")
          .names(),
      ElementsAre("query.weight [6, 8]", "key.weight [6, 8]",
                  "value.weight [12, 8]", "rate.weight [2, 8]",
                  "output.weight [8, 12]", "norm.weight [6]",
                  "decay.weight [2, 8]", "step_bias [2]", "decay_rate [2]",
                  "gate.weight [12, 8]"));
  EXPECT_THAT(
      LayerTestHarness("kda { heads: 2 convolution { width: 0 } }").names(),
      ElementsAre("query.weight [8, 8]", "key.weight [8, 8]",
                  "value.weight [8, 8]", "rate.weight [2, 8]",
                  "output.weight [8, 8]", "norm.weight [4]",
                  "decay.weight [8, 4]", "step_bias [8]", "decay_rate [2]",
                  "narrow_decay.weight [4, 8]", "narrow_gate.weight [4, 8]",
                  "gate.weight [8, 4]", "gate.bias [8]"));
}

TEST(DeltaTest, SaysWhatIsWrong) {
  const auto expect = [](const char* config, const char* problem) {
    EXPECT_THAT(ProblemsOf(config), ElementsAre(HasSubstr(problem))) << config;
  };
  expect("delta { heads: 3 value_width: 1 }",
         "delta.heads: must divide 8 unless `key_width` is set; got 3");
  expect("delta { heads: 65536 key_width: 1 value_width: 65536 }",
         "value_width: times `heads` must be at most 2^30");
  expect("delta { heads: 2 convolution { width: 65 } }",
         "delta.convolution.width: must be in [0, 64]");
  expect("delta_net { heads: 5 }", "delta_net.heads: must divide 8 unless");
  expect("gated_delta { heads: 5 key_width: 2 }",
         "gated_delta.heads: must divide 12 unless `value_width`");
  expect("kda { heads: 16 }", "kda.heads: must divide 8 unless");
  EXPECT_THAT(ProblemsOf("gated_delta { heads: 3 }"), IsEmpty());
}

TEST(LinearAttentionTest, SaysWhatIsWrong) {
  const auto expect = [](const char* config, const char* problem) {
    EXPECT_THAT(ProblemsOf(config), ElementsAre(HasSubstr(problem))) << config;
  };
  expect("", "has no mixer; set one");
  expect("linear_attention { heads: 3 value_width: 1 }",
         "linear_attention.heads: must divide 8 unless `key_width` is set; "
         "got 3");
  expect("linear_attention { heads: 2 key_heads: 4 }",
         "key_heads: must divide `heads` (2); got 4");
  expect("linear_attention { heads: 8 rotary: true feature_map: IDENTITY }",
         "rotary: requires an even `key_width`");
  expect("linear_attention { feature_map: SILU normalize: true }",
         "normalize: requires feature_map: ELU_PLUS_ONE");
  expect("linear_attention { heads: 2 rotary: true }",
         "rotary: requires normalize: false");
  expect("linear_attention { skip: true }", "skip: requires normalize: false");
  expect("linear_attention { step_size: true decay: FIXED }",
         "step_size: requires decay: HEAD");
  expect("linear_attention { norm: GATED_NORM }",
         "norm: GATED_NORM requires `gate: true`");
  expect("linear_attention { heads: 65536 key_width: 65536 value_width: 1 }",
         "key_width: times `heads` must be at most 2^30");
  expect("retention { heads: 5 }", "retention.heads: must divide 8 unless");
  expect("gated_linear { heads: 8 }", "gated_linear.heads: must divide 4");
  expect("mamba2 { heads: 3 }", "mamba2.heads: must divide 16 unless");
  EXPECT_THAT(ProblemsOf("retention { heads: 4 key_width: 2 }"), IsEmpty());
}

}  // namespace
}  // namespace regard
