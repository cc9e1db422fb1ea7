#include "attention/multi_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/multi_head.pb.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MultiHead Parse(const std::string& text) {
  MultiHead config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

ScorerRegistry BuiltIn() {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// A layer with its parameters, on a tape of its own.
template <typename T>
struct Model {
  Model(const std::string& config, const MultiHeadWidths& widths)
      : scorers(BuiltIn()),
        layer(scorers, Parse(config), store.Root(), widths) {
    store.Finalize(/*seed=*/3);
    forward = std::make_unique<Forward<T>>(tape, store, nullptr);
    forward->BeginStep();
  }

  // Numbers of the order of 1 that differ by `salt`.
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

  MultiHeadOutput<T> Run(Var<T> queries, Var<T> keys, Var<T> values,
                         MultiHeadInputs<T> inputs = {}) {
    return layer.Attend(*forward, queries,
                        layer.Prepare(*forward, keys, values), inputs);
  }

  ScorerRegistry scorers;
  ParameterStore<T> store;
  MultiHeadAttention<T> layer;
  Tape<T> tape;
  std::unique_ptr<Forward<T>> forward;
};

template <typename T>
void ExpectNear(Var<T> got, Var<T> want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got.data()[i], want.data()[i], tolerance) << "element " << i;
  }
}

TEST(SplitHeadsTest, KeepsTimeApartFromHeads) {
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
    const MultiHeadOutput<float> y = model.Run(x, x, x, {.want_weights = true});
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
  const MultiHeadOutput<float> y =
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
  Model<float> model("heads: 2 width: 6 attention { dot {} }", {3, 4, 5});
  const auto shape = [&](const char* name) {
    return model.store.info(*model.store.FindByName(name)).shape;
  };
  EXPECT_EQ(shape("query.weight"), Shape({6, 3}));
  EXPECT_EQ(shape("key.weight"), Shape({6, 4}));
  EXPECT_EQ(shape("value.weight"), Shape({6, 5}));
  EXPECT_EQ(shape("output.weight"), Shape({6, 6}));
  EXPECT_EQ(shape("output.bias"), Shape({6}));
  const MultiHeadOutput<float> y = model.Run(
      model.Input({2, 3, 3}), model.Input({2, 7, 4}), model.Input({2, 7, 5}));
  EXPECT_EQ(y.output.shape(), Shape({2, 3, 6}));
  EXPECT_FALSE(y.weights.has_value());
}

// Softmax of [[2, 4, 4], [4, 16, 12], [4, 12, 10]] times the values.
TEST(MultiHeadTest, OneHeadWithoutProjectionsIsTheWorkedExample) {
  Model<double> model("heads: 1 bias: false attention { dot {} }", {3, 3, 3});
  for (const char* name :
       {"query.weight", "key.weight", "value.weight", "output.weight"}) {
    model.Set(name, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  }
  Tape<double>& tape = model.tape;
  const MultiHeadOutput<double> y =
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

TEST(MultiHeadTest, AHeadMaskTakesAHeadAway) {
  Model<double> model("heads: 2 bias: false attention { dot {} }", {4, 4, 4});
  model.Set("output.weight", {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const Var<double> x = model.Input({1, 3, 4});
  const Var<double> all = model.Run(x, x, x).output;
  const Var<double> masked =
      model.Run(x, x, x, {.head_mask = model.tape.Input({2}, {0, 0.5})}).output;
  for (int64_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(masked.data()[i], i % 4 < 2 ? 0 : all.data()[i] / 2, 1e-15);
  }
}

TEST(MultiHeadTest, WeightsAreThoseBeforeDropout) {
  Model<double> model("heads: 2 attention { dot {} dropout: 0.5 }", {4, 4, 4});
  const Var<double> x = model.Input({1, 5, 4});
  const MultiHeadOutput<double> plain =
      model.Run(x, x, x, {.want_weights = true});
  model.tape.set_training(true);
  const MultiHeadOutput<double> dropped =
      model.Run(x, x, x, {.want_weights = true});
  ExpectNear(dropped.weights, plain.weights, 0);
  EXPECT_NE(std::vector<double>(dropped.output.span().begin(),
                                dropped.output.span().end()),
            std::vector<double>(plain.output.span().begin(),
                                plain.output.span().end()));
}

TEST(MultiHeadTest, ARowThatSeesNothingGivesTheBiasOfTheOutput) {
  Model<double> model("heads: 2 attention { dot {} }", {4, 4, 4});
  model.Set("output.bias", {1, 2, 3, 4});
  const Var<double> x = model.Input({2, 3, 4});
  const std::vector<int32_t> lengths = {0, 3};
  const MultiHeadOutput<double> y = model.Run(
      x, x, x, {.mask = {.key_lengths = lengths}, .want_weights = true});
  EXPECT_THAT(y.output.span().subspan(0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(y.weights.span().subspan(0, 2 * 3 * 3), Each(0));
}

std::vector<std::pair<std::string, std::string>> ProblemsOf(
    const std::string& config, const MultiHeadWidths& widths) {
  const ScorerRegistry scorers = BuiltIn();
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
  EXPECT_THAT(problems[0].second, HasSubstr("the width is 512"));
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
