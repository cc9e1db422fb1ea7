#include "attention/multi_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/attention_registry.h"
#include "attention/checks/tape_state.h"
#include "attention/layer_state.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

MultiHead Parse(const std::string& text) {
  MultiHead config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

AttentionRegistry BuiltIn() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// A layer with its parameters, on its own tape.
template <typename T>
struct Model {
  Model(const std::string& config, const MultiHeadInputWidths& widths)
      : scorers(BuiltIn()),
        layer(scorers, Parse(config), store.Root(), widths) {
    store.Finalize(/*seed=*/3);
    forward = std::make_unique<Forward<T>>(tape, store, nullptr);
    forward->BeginStep();
  }

  // Numbers of the order of 1 that depend on `salt`.
  Var<T> Input(const Shape& shape, double salt = 0) {
    Var<T> x = tape.Constant(shape);
    for (int64_t i = 0; i < x.size(); ++i) {
      x.data()[i] = static_cast<T>(std::sin(static_cast<double>(i) + salt));
    }
    return x;
  }

  void Set(const std::string& name, const std::vector<double>& values) {
    const auto to = store.value(*store.FindByName(name));
    ASSERT_EQ(values.size(), to.size()) << name;
    std::copy(values.begin(), values.end(), to.begin());
  }

  struct Reading {
    Mask mask = {};
    bool want_weights = false;
    bool want_gradients = false;
    Var<T> head_factors = {};
  };
  struct Output {
    Var<T> output;
    Var<T> weights;  // if requested
  };

  Output Run(Var<T> queries, Var<T> keys, Var<T> values, Reading reading = {}) {
    CapturingHook<T>& hook =
        *hooks.emplace_back(std::make_unique<CapturingHook<T>>(
            "attention/weights", reading.want_gradients));
    hook.set_head_factors(reading.head_factors);
    forward->set_hook(&hook);
    Output all;
    all.output = layer(*forward, queries, layer.Prepare(*forward, keys, values),
                       {.mask = reading.mask});
    if (reading.want_weights) all.weights = hook["*"];
    forward->set_hook(nullptr);
    return all;
  }

  AttentionRegistry scorers;
  ParameterStore<T> store;
  MultiHeadAttention<T> layer;
  Tape<T> tape;
  std::unique_ptr<Forward<T>> forward;
  // Keeps the hooks until the backward pass, which uses them.
  std::vector<std::unique_ptr<CapturingHook<T>>> hooks;
};

template <typename T>
void ExpectNear(Var<T> got, Var<T> want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got.data()[i], want.data()[i], tolerance) << "element " << i;
  }
}

TEST(SplitHeadsTest, SeparatesTimeFromHeads) {
  Tape<float> tape;
  const Var<float> x = tape.Input({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Var<float> heads = SplitHeads(x, 2);
  EXPECT_EQ(heads.shape(), Shape({1, 2, 2, 2}));
  EXPECT_THAT(heads.span(), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  const Var<float> merged = MergeHeads(heads);
  EXPECT_EQ(merged.shape(), x.shape());
  EXPECT_THAT(merged.span(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(SplitHeadsDeathTest, NeedsAMultipleOfTheHeads) {
  Tape<float> tape;
  EXPECT_DEATH(SplitHeads(tape.Full({1, 2, 4}, 0), 3), "3 heads of");
}

TEST(MultiHeadTest, SixteenHeadsOfWidth512) {
  for (const int64_t time : {512, 3}) {
    Model<float> model("heads: 16 attention { dot {} }", {512, 512, 512});
    EXPECT_EQ(model.store.num_elements(), 1'050'624);
    const Var<float> x = model.Input({2, time, 512});
    const Model<float>::Output y = model.Run(x, x, x, {.want_weights = true});
    EXPECT_EQ(y.output.shape(), Shape({2, time, 512}));
    EXPECT_EQ(y.weights.shape(), Shape({2, 16, time, time}));
  }
}

TEST(MultiHeadTest, LengthsRepeatOverHeads) {
  Model<float> model("heads: 5 bias: false attention { dot {} }",
                     {100, 100, 100});
  EXPECT_EQ(model.store.num_elements(), 40'000);
  const std::vector<int32_t> lengths = {3, 2};
  const Var<float> keys = model.Input({2, 6, 100});
  const Model<float>::Output y =
      model.Run(model.Input({2, 4, 100}, 1), keys, keys,
                {.mask = {.key_lengths = lengths}, .want_weights = true});
  EXPECT_EQ(y.output.shape(), Shape({2, 4, 100}));
  ASSERT_EQ(y.weights.shape(), Shape({2, 5, 4, 6}));
  for (int64_t row = 0; row < 2 * 5 * 4; ++row) {
    const int32_t length = lengths[row / (5 * 4)];
    double sum = 0;
    for (int64_t k = 0; k < 6; ++k) {
      const float weight = y.weights.data()[row * 6 + k];
      sum += weight;
      EXPECT_EQ(weight > 0, k < length) << "row " << row << ", key " << k;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(MultiHeadTest, NamesItsParametersAsTheProjections) {
  Model<float> model(
      "heads: 2 head_width: 3 output_width: 6 attention { dot {} }", {3, 4, 5});
  const auto shape = [&](const char* name) {
    return model.store.info(*model.store.FindByName(name)).shape;
  };
  EXPECT_EQ(shape("query.weight"), Shape({6, 3}));
  EXPECT_EQ(shape("key.weight"), Shape({6, 4}));
  EXPECT_EQ(shape("value.weight"), Shape({6, 5}));
  EXPECT_EQ(shape("output.weight"), Shape({6, 6}));
  EXPECT_EQ(shape("output.bias"), Shape({6}));
  const Model<float>::Output y = model.Run(
      model.Input({2, 3, 3}), model.Input({2, 7, 4}), model.Input({2, 7, 5}));
  EXPECT_EQ(y.output.shape(), Shape({2, 3, 6}));
}

// The scores are [[2, 4, 4], [4, 16, 12], [4, 12, 10]]. The weights are their
// softmax.
TEST(MultiHeadTest, OneHeadWithoutProjectionsIsTheWorkedExample) {
  Model<double> model("heads: 1 bias: false attention { dot {} }", {3, 3, 3});
  for (const char* name :
       {"query.weight", "key.weight", "value.weight", "output.weight"}) {
    model.Set(name, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  }
  Tape<double>& tape = model.tape;
  const Model<double>::Output y =
      model.Run(tape.Input({1, 3, 3}, {1, 0, 2, 2, 2, 2, 2, 1, 3}),
                tape.Input({1, 3, 3}, {0, 1, 1, 4, 4, 0, 2, 3, 1}),
                tape.Input({1, 3, 3}, {1, 2, 3, 2, 8, 0, 2, 6, 3}),
                {.want_weights = true});
  ExpectNear(
      y.weights,
      tape.Input({1, 1, 3, 3}, {.0633789383, .4683105308, .4683105308,
                                6.0336648546e-6, .982007864901, .0179861014,
                                2.9538722e-4, .8805369018, .1191677110}),
      1e-10);
  ExpectNear(y.output,
             tape.Input({1, 3, 3}, {1.9366210617, 6.6831053083, 1.5950684075,
                                    1.9999939663, 7.9639915951, .0539764053,
                                    1.9997046128, 7.7598922547, .3583892947}),
             1e-10);
}

TEST(MultiHeadTest, CrossAttentionToItsOwnSequenceIsSelfAttention) {
  Model<double> model("heads: 2 attention { dot {} }", {6, 6, 6});
  const Var<double> x = model.Input({2, 4, 6});
  const Var<double> copy = model.Input({2, 4, 6});
  const Mask causal = {.causal = true};
  ExpectNear(model.Run(x, x, x, {.mask = causal}).output,
             model.Run(x, copy, copy, {.mask = causal}).output, 0);
}

TEST(MultiHeadTest, AHeadFactorOfZeroRemovesAHead) {
  Model<double> model("heads: 2 bias: false attention { dot {} }", {4, 4, 4});
  model.Set("output.weight", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const Var<double> x = model.Input({1, 3, 4});
  const Var<double> all = model.Run(x, x, x).output;
  const Var<double> masked =
      model.Run(x, x, x, {.head_factors = model.tape.Input({2}, {0, 0.5})})
          .output;
  for (int64_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(masked.data()[i], i % 4 < 2 ? 0 : all.data()[i] / 2, 1e-15);
  }
}

TEST(MultiHeadTest, ReportedWeightsAreBeforeDropout) {
  Model<double> model("heads: 2 attention { dot {} dropout: 0.5 }", {4, 4, 4});
  const Var<double> x = model.Input({1, 5, 4});
  const Model<double>::Output plain =
      model.Run(x, x, x, {.want_weights = true});
  model.tape.set_training(true);
  const Model<double>::Output dropped =
      model.Run(x, x, x, {.want_weights = true});
  ExpectNear(dropped.weights, plain.weights, 0);
  EXPECT_NE(std::vector<double>(dropped.output.span().begin(),
                                dropped.output.span().end()),
            std::vector<double>(plain.output.span().begin(),
                                plain.output.span().end()));
}

TEST(MultiHeadTest, ARowWithoutVisibleKeysGivesTheOutputBias) {
  Model<double> model("heads: 2 attention { dot {} }", {4, 4, 4});
  model.Set("output.bias", {1, 2, 3, 4});
  const Var<double> x = model.Input({2, 3, 4});
  const std::vector<int32_t> lengths = {0, 3};
  const Model<double>::Output y = model.Run(
      x, x, x, {.mask = {.key_lengths = lengths}, .want_weights = true});
  EXPECT_THAT(y.output.span().subspan(0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(y.weights.span().subspan(0, 2 * 3 * 3), Each(0));
}

TEST(MultiHeadTest, WidthsOfHeadsAndOutputAreIndependentOfTheQueries) {
  Model<float> model(
      "heads: 3 head_width: 5 output_width: 7 attention { dot {} }", {4, 4, 4});
  // Each of the projections of queries, keys and values has (4 + 1) * 15
  // parameters. The output projection has (15 + 1) * 7 parameters.
  EXPECT_EQ(model.store.num_elements(), 3 * 5 * 15 + 16 * 7);
  const Var<float> x = model.Input({2, 3, 4});
  EXPECT_EQ(model.Run(x, x, x).output.shape(), Shape({2, 3, 7}));
  // With head_width, the number of heads need not divide the width, 4.
  Model<float> kept("heads: 3 head_width: 2 attention { dot {} }", {4, 4, 4});
  EXPECT_EQ(kept.Run(kept.Input({1, 2, 4}), kept.Input({1, 2, 4}),
                     kept.Input({1, 2, 4}))
                .output.shape(),
            Shape({1, 2, 4}));
}

TEST(MultiHeadTest, OnlyTheOutputMayHaveABias) {
  const Model<float> model(
      "heads: 2 bias: false output_bias: true attention { dot {} }", {4, 4, 4});
  EXPECT_EQ(model.store.num_elements(), 4 * 4 * 4 + 4);
  EXPECT_TRUE(model.store.FindByName("output.bias").has_value());
}

// A layer with fewer key heads must equal a layer with repeated parameters.
TEST(MultiHeadTest, KeyHeadsAreSharedBySuccessiveHeads) {
  for (const std::string attention :
       {"dot {}", "scaled_dot {}", "gaussian {}",
        "cosine { scale { learned: false value: 3 } }",
        "formula { score: '(q . k) / sqrt(d)' }",
        "dot {} position_encoding { rotary {} }",
        "dot {} position_encoding { alibi {} }",
        "gaussian {} normalizer { sparsemax {} }"}) {
    for (const bool want_weights : {true, false}) {
      const std::string fields =
          "heads: 4 head_width: 2 attention { " + attention + " }";
      Model<double> grouped("key_heads: 2 " + fields, {6, 6, 6});
      Model<double> full(fields, {6, 6, 6});
      EXPECT_EQ(grouped.store.num_elements(), 8 * 7 + 2 * 4 * 7 + 6 * 9);
      for (const char* name :
           {"query.weight", "query.bias", "output.weight", "output.bias",
            "key.weight", "key.bias", "value.weight", "value.bias"}) {
        const auto from = grouped.store.value(*grouped.store.FindByName(name));
        std::vector<double> values(from.begin(), from.end());
        const size_t to = full.store.value(*full.store.FindByName(name)).size();
        if (to != values.size()) {
          // Repeats each key head or value head for the two heads that share
          // it.
          const size_t head = values.size() / 2;
          std::vector<double> twice;
          for (size_t h = 0; h < 4; ++h) {
            twice.insert(twice.end(), values.begin() + h / 2 * head,
                         values.begin() + (h / 2 + 1) * head);
          }
          values = twice;
        }
        full.Set(name, values);
      }
      const auto run = [&](Model<double>& model) {
        const Var<double> x = model.Input({2, 3, 6});
        return model.Run(
            x, x, x, {.mask = {.causal = true}, .want_weights = want_weights});
      };
      const Model<double>::Output got = run(grouped);
      const Model<double>::Output want = run(full);
      ExpectNear(got.output, want.output, 1e-14);
      if (want_weights) ExpectNear(got.weights, want.weights, 1e-14);
    }
  }
}

// The call with hooks and the kernel that reads heads side by side must give
// the same output, up to rounding.
TEST(MultiHeadTest, HooksChangeNoOutput) {
  for (const char* attention :
       {"dot {}", "dot { scale { learned: true } }", "scaled_dot {} window: 2",
        "scaled_dot {} position_encoding { alibi {} }", "bilinear {}",
        "cosine {} position_encoding { rotary { width: 2 } }", "gaussian {}"}) {
    Model<double> model(absl::StrCat("heads: 4 key_heads: 2 head_width: 3 ",
                                     "attention { ", attention, " }"),
                        {5, 6, 7});
    const Var<double> queries = model.Input({2, 3, 5});
    const Var<double> keys = model.Input({2, 4, 6}, 1);
    const Var<double> values = model.Input({2, 4, 7}, 2);
    ExpectNear(model.Run(queries, keys, values, {.want_weights = true}).output,
               model.Run(queries, keys, values).output, 1e-14);
  }
}

TEST(MultiHeadTest, ASourceIsSplitWhenItIsPreparedForAHook) {
  Model<float> model(
      "heads: 4 key_heads: 2 head_width: 3 attention { scaled_dot {} }",
      {5, 6, 7});
  const Var<float> queries = model.Input({2, 3, 5});
  const Var<float> keys = model.Input({2, 4, 6}, 1);
  const Var<float> values = model.Input({2, 4, 7}, 2);
  CapturingHook<float> hook("attention/weights");
  const auto prepare = [&](Hook<float>* by, LayerState<float>* state) {
    model.forward->set_hook(by);
    return model.layer.Prepare(*model.forward, keys, values, 0, state);
  };
  const PreparedSource<float> split = prepare(&hook, nullptr);
  EXPECT_EQ(split.keys.shape(), Shape({2, 2, 4, 3}));
  EXPECT_EQ(split.values.shape(), Shape({2, 2, 4, 3}));
  TapeLayerState<float> state{StateSlotNames()};
  EXPECT_EQ(prepare(&hook, &state).keys.shape(), Shape({2, 4, 6}));
  const PreparedSource<float> whole = prepare(nullptr, nullptr);
  EXPECT_EQ(whole.keys.shape(), Shape({2, 4, 6}));
  EXPECT_EQ(whole.values.shape(), Shape({2, 4, 6}));

  const Var<float> want = model.layer(*model.forward, queries, whole, {});
  model.forward->set_hook(&hook);
  const Var<float> of_split = model.layer(*model.forward, queries, split, {});
  const Var<float> weights = hook["*"];
  const Var<float> of_whole = model.layer(*model.forward, queries, whole, {});
  EXPECT_EQ(hook.names().size(), 2);
  EXPECT_THAT(of_split.span(), ElementsAreArray(want.span()));
  EXPECT_THAT(of_whole.span(), ElementsAreArray(want.span()));
  EXPECT_THAT(weights.span(), ElementsAreArray(hook["*"].span()));
}

// Dropout must depend only on head, query and key. Padding must not change
// which weights are dropped.
TEST(MultiHeadTest, PaddingChangesNoDropout) {
  Model<float> model("heads: 2 attention { dot {} dropout: 0.5 }", {4, 4, 4});
  model.tape.set_training(true);
  const Var<float> padded = model.Input({1, 5, 4});
  Var<float> exact = model.tape.Constant({1, 3, 4});
  std::copy_n(padded.data(), 12, exact.data());
  const std::vector<int32_t> lengths = {3};
  const Var<float> want = model.Run(exact, exact, exact).output;
  const Var<float> got =
      model.Run(padded, padded, padded, {.mask = {.key_lengths = lengths}})
          .output;
  EXPECT_EQ(got.span().subspan(0, 12), want.span());
}

TEST(MultiHeadTest, GradientsOfWeightsArriveOnRequest) {
  Model<float> model("heads: 2 attention { dot {} }", {4, 4, 4});
  const Var<float> x = model.tape.Full({1, 3, 4}, 0.5f);
  const Model<float>::Output y =
      model.Run(x, x, x, {.want_weights = true, .want_gradients = true});
  model.tape.Backward(Sum(y.output));
  ASSERT_NE(y.weights.grad_data(), nullptr);
  // All keys are equal, so the gradients of their weights must be equal, and
  // must not be 0.
  EXPECT_NE(y.weights.grad_data()[0], 0);
  EXPECT_EQ(y.weights.grad_data()[0], y.weights.grad_data()[1]);
}

std::vector<std::pair<std::string, std::string>> ProblemsOf(
    const std::string& config, const MultiHeadInputWidths& widths) {
  const AttentionRegistry scorers = BuiltIn();
  ConfigProblems problems;
  const ConfigProblems::Scope scope(problems, "layer");
  ValidateMultiHead(scorers, Parse(config), widths, problems);
  std::vector<std::pair<std::string, std::string>> found;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    found.push_back({problem.path, problem.message});
  }
  return found;
}

TEST(ValidateMultiHeadTest, PointsAtHeadsThatDoNotDivideTheWidth) {
  const auto problems =
      ProblemsOf("heads: 3 attention { dot {} }", {512, 512, 512});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].first, "layer.heads");
  EXPECT_THAT(problems[0].second, HasSubstr("the width of the queries (512)"));
}

TEST(ValidateMultiHeadTest, PointsAtWrongHeads) {
  const auto path = [](const std::string& fields) {
    return ProblemsOf(fields + " attention { dot {} }", {6, 6, 6}).at(0).first;
  };
  EXPECT_EQ(path("heads: 3 key_heads: 2"), "layer.key_heads");
  EXPECT_EQ(path("heads: 3 key_heads: 6"), "layer.key_heads");
  EXPECT_EQ(path("heads: 3 head_width: -1"), "layer.head_width");
  EXPECT_EQ(path("heads: 3 output_width: -1"), "layer.output_width");
  EXPECT_EQ(path("heads: 65537 head_width: 1"), "layer.heads");
  EXPECT_TRUE(
      ProblemsOf("heads: 6 key_heads: 2 head_width: 5 attention { dot {} }",
                 {4, 4, 4})
          .empty());
}

TEST(ValidateMultiHeadTest, TheHeadsSideBySideFitAnExtent) {
  const auto problems = [](const std::string& fields) {
    return ProblemsOf(fields + " attention { dot {} }", {6, 6, 6});
  };
  EXPECT_TRUE(problems("heads: 4096 head_width: 262144").empty());
  for (const char* fields :
       {"heads: 4096 head_width: 262145", "heads: 4096 head_width: 1048576"}) {
    ASSERT_EQ(problems(fields).size(), 1u) << fields;
    EXPECT_EQ(problems(fields)[0].first, "layer.head_width") << fields;
  }
}

TEST(ValidateMultiHeadTest, PointsAtNormalizerAndPositionEncoding) {
  const auto path = [](const std::string& attention) {
    return ProblemsOf("heads: 2 attention { dot {} " + attention + " }",
                      {6, 6, 6})
        .at(0)
        .first;
  };
  EXPECT_EQ(path("position_encoding { rotary {} }"),
            "layer.attention.position_encoding.rotary.width");
  EXPECT_EQ(path("position_encoding {}"), "layer.attention.position_encoding");
  EXPECT_EQ(path("normalizer { sigmoid { bias: 1e9 } }"),
            "layer.attention.normalizer.sigmoid.bias");
  EXPECT_EQ(path("window: -1"), "layer.attention.window");
}

TEST(ValidateMultiHeadTest, PointsAtMapsAndAtTheNormOfQueriesAndKeys) {
  const auto problem = [](const std::string& fields) {
    return ProblemsOf("heads: 2 " + fields, {4, 4, 4}).at(0);
  };
  EXPECT_EQ(
      problem("attention { dot {} map_before { top_k { keys: 0 } } }").first,
      "layer.attention.map_before.top_k.keys");
  const auto after = problem("attention { dot {} map_after { top_k {} } }");
  EXPECT_EQ(after.first, "layer.attention.map_after");
  EXPECT_THAT(after.second, HasSubstr("use map_before"));
  EXPECT_EQ(problem("attention { dot {} } query_key_norm { epsilon: 2 }").first,
            "layer.query_key_norm.epsilon");
}

TEST(ValidateMultiHeadTest, PointsAtTheScore) {
  EXPECT_EQ(ProblemsOf("heads: 2", {4, 4, 4}).at(0).first, "layer.attention");
  EXPECT_EQ(ProblemsOf("heads: 2 attention { dot {} dropout: 1 }", {4, 4, 4})
                .at(0)
                .first,
            "layer.attention.dropout");
  EXPECT_EQ(ProblemsOf("heads: 0 attention { dot {} }", {4, 4, 4}).at(0).first,
            "layer.heads");
  EXPECT_TRUE(ProblemsOf("heads: 2 attention { dot {} }", {4, 9, 7}).empty());
}

}  // namespace
}  // namespace regard
