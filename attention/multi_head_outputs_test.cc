// Tests of multi-head attention with a head output, and of values that have
// other widths and numbers of heads than the keys.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
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
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kWidth = 6;

MultiHead Parse(const std::string& text) {
  MultiHead config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

AttentionRegistry BuiltIn() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// Returns problems as "path: message".
std::vector<std::string> ProblemsOf(const std::string& config) {
  ConfigProblems problems;
  ValidateMultiHead(BuiltIn(), Parse(config), {kWidth, kWidth, kWidth},
                    problems);
  std::vector<std::string> texts;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    texts.push_back(absl::StrCat(problem.path, ": ", problem.message));
  }
  return texts;
}

// Causal self-attention, with gradients of x and of all parameters.
template <typename T>
struct Layer {
  explicit Layer(const std::string& config)
      : scorers(BuiltIn()),
        layer(scorers, Parse(config), store.Root(), {kWidth, kWidth, kWidth}) {
    EXPECT_THAT(ProblemsOf(config), IsEmpty()) << config;
    store.Finalize(/*seed=*/3);
    gradients = std::make_unique<GradientSlab<T>>(store);
    forward = std::make_unique<Forward<T>>(tape, store, gradients.get());
  }

  absl::Span<T> value(const std::string& name) {
    return store.value(*store.FindByName(name));
  }
  std::vector<T> gradient(const std::string& name) {
    const auto span =
        store.Segment(gradients->values(), *store.FindByName(name));
    return {span.begin(), span.end()};
  }

  std::vector<T> Run(Hook<T>* hook = nullptr) {
    forward->BeginStep();
    forward->set_hook(hook);
    std::vector<T> numbers(2 * 5 * kWidth);
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<T>(std::sin(static_cast<double>(i * i)));
    }
    x_gradient.assign(numbers.size(), T(0));
    x_numbers = numbers;
    const Var<T> x =
        tape.Leaf(x_numbers.data(), x_gradient.data(), {2, 5, kWidth});
    const Var<T> y = layer(*forward, x, layer.Prepare(*forward, x, x),
                           {.mask = {.causal = true}});
    std::vector<T> output(y.span().begin(), y.span().end());
    y.grad_ref().AddEach([](int64_t i) {
      return static_cast<T>(std::cos(static_cast<double>(i)));
    });
    forward->Backward({}, {});
    forward->set_hook(nullptr);
    return output;
  }

  AttentionRegistry scorers;
  ParameterStore<T> store;
  MultiHeadAttention<T> layer;
  std::unique_ptr<GradientSlab<T>> gradients;
  Tape<T> tape;
  std::unique_ptr<Forward<T>> forward;
  std::vector<T> x_numbers, x_gradient;
};

template <typename T>
void Copy(Layer<T>& from, const std::string& name, Layer<T>& to) {
  const auto source = from.value(name);
  const auto target = to.value(name);
  ASSERT_EQ(source.size(), target.size()) << name;
  std::copy(source.begin(), source.end(), target.begin());
}

constexpr const char* kProjections[] = {
    "query.weight", "query.bias", "key.weight",    "key.bias",
    "value.weight", "value.bias", "output.weight", "output.bias"};

constexpr const char* kAttentions[] = {
    "attention { scaled_dot {} }",
    "attention { scaled_dot {} position_encoding { rotary {} } }",
    "attention { additive { width: 3 } }",
    "attention { gaussian {} normalizer { sparsemax {} } }"};

// With a bias of 1000, the gates are exactly 1 and have no gradient, so the
// layer must be bit-identical to plain attention.
TEST(MultiHeadOutputsTest, OpenGatesArePlainAttentionToTheBit) {
  for (const char* attention : kAttentions) {
    for (const char* gate :
         {"gate { bias: 1000 }", "gate { bias: 1000 granularity: HEAD }"}) {
      const std::string fields =
          absl::StrCat("heads: 4 key_heads: 2 head_width: 4 ", attention);
      Layer<float> plain(fields);
      Layer<float> gated(absl::StrCat(fields, " head_output { ", gate, " }"));
      for (const ParameterInfo& info : plain.store.parameters()) {
        Copy(plain, info.name, gated);
      }
      EXPECT_EQ(gated.Run(), plain.Run()) << attention << " " << gate;
      EXPECT_EQ(gated.x_gradient, plain.x_gradient) << attention;
      for (const ParameterInfo& info : plain.store.parameters()) {
        EXPECT_EQ(gated.gradient(info.name), plain.gradient(info.name))
            << attention << " " << gate << " " << info.name;
      }
    }
  }
}

// With a bias of -1000, lambda is exactly 0. The heads 0 and 2 of the
// differential layer must then equal the heads of the plain layer.
TEST(MultiHeadOutputsTest, WithoutLambdaDifferentialIsPlainAttention) {
  constexpr int64_t kHead = 4 * kWidth;  // elements per head of query.weight
  for (const char* attention : kAttentions) {
    if (std::string(attention).find("additive") != std::string::npos) {
      continue;  // the parameters of `additive` have an axis of heads
    }
    Layer<float> plain(
        absl::StrCat("heads: 2 head_width: 4 value_width: 3 ", attention));
    Layer<float> differential(
        absl::StrCat("heads: 4 head_width: 4 value_width: 3 head_output { "
                     "differential { bias: -1000 } } ",
                     attention));
    for (const char* name : kProjections) {
      if (std::string(name).starts_with("query")) continue;
      Copy(plain, name, differential);
    }
    const auto copy_heads = [&](const char* name, int64_t numbers) {
      for (int64_t h = 0; h < 2; ++h) {
        std::copy_n(plain.value(name).begin() + h * numbers, numbers,
                    differential.value(name).begin() + 2 * h * numbers);
      }
    };
    copy_heads("query.weight", kHead);
    copy_heads("query.bias", 4);
    EXPECT_EQ(differential.Run(), plain.Run()) << attention;
    for (const char* name : {"value.weight", "output.weight"}) {
      EXPECT_EQ(differential.gradient(name), plain.gradient(name))
          << attention << " " << name;
    }
    const std::vector<float> got = differential.gradient("query.weight");
    const std::vector<float> want = plain.gradient("query.weight");
    for (int64_t i = 0; i < 2 * kHead; ++i) {
      EXPECT_EQ(got[i / kHead * 2 * kHead + i % kHead], want[i]) << attention;
      EXPECT_EQ(got[(i / kHead * 2 + 1) * kHead + i % kHead], 0) << attention;
    }
  }
}

// There are one query and two heads of width 2. The value and output
// projections are identities, so the value is [3, 4] in head 0 and [1, -1] in
// head 1.
TEST(MultiHeadOutputsTest, ValuesAreAsComputedByHand) {
  const auto run = [](const std::string& head_output,
                      const std::vector<double>& weights) {
    AttentionRegistry scorers = BuiltIn();
    const MultiHead config = Parse(
        absl::StrCat("heads: 2 bias: false attention { dot {} } head_output { ",
                     head_output, " }"));
    ParameterStore<double> store;
    const MultiHeadAttention<double> layer(scorers, config, store.Root(),
                                           {4, 4, 4});
    store.Finalize(1);
    for (const char* name : {"value.weight", "output.weight"}) {
      const auto value = store.value(*store.FindByName(name));
      for (size_t i = 0; i < value.size(); ++i) value[i] = i % 5 == 0;
    }
    for (const ParameterInfo& info : store.parameters()) {
      if (!info.name.starts_with("head_output")) continue;
      const auto value = store.value(*store.FindByName(info.name));
      EXPECT_EQ(value.size(), weights.size());
      std::copy(weights.begin(), weights.end(), value.begin());
    }
    Tape<double> tape;
    Forward<double> forward(tape, store, nullptr);
    forward.BeginStep();
    const Var<double> x = tape.Input({1, 1, 4}, {3, 4, 1, -1});
    const Var<double> y =
        layer(forward, x, layer.Prepare(forward, x, x), {.mask = {}});
    return std::vector<double>(y.span().begin(), y.span().end());
  };
  const auto near = [](double x) { return ::testing::DoubleNear(x, 1e-12); };
  // The gates are 1/2, sigmoid(log 3) = 3/4 or sigmoid(-log 3) = 1/4.
  const double log3 = std::log(3.0);
  EXPECT_THAT(run("gate { granularity: HEAD }", {0, 0, log3, 0, 0, 0, 0, log3}),
              ElementsAre(near(2.25), near(3), near(.25), near(-.25)));
  EXPECT_THAT(run("gate {}", {0, 0, 0, 0, 0, 0, log3, 0,  //
                              0, 0, log3, 0, 0, 0, 0, 0}),
              ElementsAre(near(1.5), near(3), near(.75), near(-.5)));
  // The mean squares of [3, 4] and [1, -1] are 12.5 and 1.
  EXPECT_THAT(run("norm { epsilon: 1e-30 }", {1, 2, 1, 3}),
              ElementsAre(near(3 / std::sqrt(12.5)), near(8 / std::sqrt(12.5)),
                          near(1), near(-3)));
  EXPECT_THAT(run("norm { kind: LAYER_NORM epsilon: 1e-30 affine: false }", {}),
              ElementsAre(near(-1), near(1), near(1), near(-1)));
}

TEST(MultiHeadOutputsTest, DifferentialSubtractsTheSecondHeadOfEachPair) {
  AttentionRegistry scorers = BuiltIn();
  // There is one key, so both heads of the pair have the same context. The head
  // output is (1 - lambda) times this context.
  const MultiHead config = Parse(
      "heads: 2 head_width: 2 bias: false attention { dot {} } "
      "head_output { differential {} }");
  ParameterStore<double> store;
  const MultiHeadAttention<double> layer(scorers, config, store.Root(),
                                         {2, 2, 2});
  store.Finalize(1);
  for (const auto& [name, numbers] :
       {std::pair("value.weight", std::vector<double>{1, 0, 0, 1}),
        std::pair("output.weight", std::vector<double>{1, 0, 0, 1}),
        std::pair("head_output.lambda.weight",
                  std::vector<double>{std::log(3.0), 0})}) {
    const auto value = store.value(*store.FindByName(name));
    ASSERT_EQ(value.size(), numbers.size()) << name;
    std::copy(numbers.begin(), numbers.end(), value.begin());
  }
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  const Var<double> x = tape.Input({1, 1, 2}, {1, 8});
  const Var<double> y =
      layer(forward, x, layer.Prepare(forward, x, x), {.mask = {}});
  EXPECT_NEAR(y.data()[0], 0.25, 1e-12);
  EXPECT_NEAR(y.data()[1], 2, 1e-12);
}

// A layer with fewer value heads or key heads must equal a layer with repeated
// parameters.
TEST(MultiHeadOutputsTest, ValueHeadsAreSharedBySuccessiveHeads) {
  for (const char* attention : kAttentions) {
    for (const auto& [key_heads, value_heads] :
         {std::pair(4, 2), std::pair(2, 4), std::pair(2, 1), std::pair(1, 4),
          std::pair(2, 2)}) {
      const std::string fields =
          absl::StrCat("heads: 4 head_width: 2 value_width: 3 ", attention);
      Layer<double> shared(absl::StrCat("key_heads: ", key_heads,
                                        " value_heads: ", value_heads, " ",
                                        fields));
      Layer<double> full(fields);
      for (const ParameterInfo& info : full.store.parameters()) {
        const auto from = shared.value(info.name);
        const auto to = full.value(info.name);
        const int64_t heads = info.name.starts_with("key")     ? key_heads
                              : info.name.starts_with("value") ? value_heads
                                                               : 4;
        const auto of_head = static_cast<int64_t>(from.size()) / heads;
        if (to.size() == from.size()) {
          std::copy(from.begin(), from.end(), to.begin());
          continue;
        }
        ASSERT_EQ(static_cast<int64_t>(to.size()), 4 * of_head) << info.name;
        for (int64_t h = 0; h < 4; ++h) {
          std::copy_n(from.begin() + h * heads / 4 * of_head, of_head,
                      to.begin() + h * of_head);
        }
      }
      const std::vector<double> got = shared.Run();
      const std::vector<double> want = full.Run();
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-14)
            << attention << ", " << key_heads << " key heads, " << value_heads
            << " value heads, element " << i;
        ASSERT_NEAR(shared.x_gradient[i], full.x_gradient[i], 1e-13)
            << attention;
      }
    }
  }
}

TEST(MultiHeadOutputsTest, ShapesFollowFromTheWidths) {
  Layer<float> layer(
      "heads: 4 head_width: 5 value_heads: 1 value_width: 3 "
      "attention { dot {} } head_output { differential {} }");
  const auto shape = [&](const char* name) {
    return layer.store.info(*layer.store.FindByName(name)).shape;
  };
  EXPECT_EQ(shape("query.weight"), Shape({20, kWidth}));
  // Each pair of heads shares a key head.
  EXPECT_EQ(shape("key.weight"), Shape({10, kWidth}));
  EXPECT_EQ(shape("value.weight"), Shape({3, kWidth}));
  EXPECT_EQ(shape("head_output.lambda.weight"), Shape({2, kWidth}));
  EXPECT_EQ(shape("output.weight"), Shape({kWidth, 6}));
}

// Without an initializer, gates must have the initial weights of a linear
// layer.
TEST(MultiHeadOutputsTest, GatesHaveTheInitialWeightsOfTheLayer) {
  const AttentionRegistry scorers = BuiltIn();
  const MultiHead config =
      Parse("heads: 2 attention { dot {} } head_output { gate {} }");
  const auto largest = [&](const MultiHeadInitialization& initialization) {
    ParameterStore<float> store;
    const MultiHeadAttention<float> layer(scorers, config, store.Root(),
                                          {64, 64, 64}, initialization);
    store.Finalize(1);
    const auto weight = store.value(*store.FindByName("head_output.weight"));
    return *std::max_element(weight.begin(), weight.end());
  };
  // Linear layers bound their weights by 1 / sqrt(64). Xavier initialization
  // bounds them by sqrt(6 / 128).
  EXPECT_NEAR(largest({.inputs = {}}), 0.125, 1e-3);
  EXPECT_NEAR(largest({}), std::sqrt(6.0 / 128), 1e-3);
}

// A hook that reads the gates or the head output must not change the output.
TEST(MultiHeadOutputsTest, GatesAndOutputAreHookPoints) {
  Layer<float> layer(
      "heads: 2 head_width: 4 attention { scaled_dot {} } "
      "head_output { gate { granularity: HEAD } }");
  const std::vector<float> plain = layer.Run();
  const auto shape_of = [&](const char* site, const char* pattern) {
    CapturingHook<float> hook(site);
    EXPECT_EQ(layer.Run(&hook), plain) << site;
    return hook[pattern].shape();
  };
  EXPECT_EQ(shape_of("gates", "*gates"), Shape({2, 5, 2}));
  EXPECT_EQ(shape_of("head_output", "*head_output"), Shape({2, 5, 8}));
}

TEST(ValidateMultiHeadTest, PointsAtNumbersOfHeadsThatCannotBeShared) {
  EXPECT_THAT(
      ProblemsOf("heads: 4 head_width: 2 value_heads: 3 attention { dot {} }"),
      ElementsAre("value_heads: must divide `heads` (4); got 3"));
  EXPECT_THAT(
      ProblemsOf("heads: 4 head_width: 2 value_heads: 8 attention { dot {} }"),
      ElementsAre(HasSubstr("value_heads: ")));
  EXPECT_THAT(ProblemsOf("heads: 4 head_width: 2 value_width: -1 attention { "
                         "dot {} }"),
              ElementsAre(HasSubstr("value_width: ")));
  EXPECT_THAT(
      ProblemsOf("heads: 4096 head_width: 2 value_width: 262145 attention { "
                 "dot {} }"),
      ElementsAre(HasSubstr("value_width: ")));
  const std::string differential =
      "head_width: 2 attention { dot {} } head_output { differential {} } ";
  EXPECT_THAT(ProblemsOf(differential + "heads: 4"), IsEmpty());
  EXPECT_THAT(
      ProblemsOf(differential + "heads: 3"),
      ElementsAre("heads: must be a multiple of 2, the number of heads that "
                  "head_output joins; got 3"));
  EXPECT_THAT(ProblemsOf(differential + "heads: 4 key_heads: 4"),
              ElementsAre("key_heads: must divide `heads` / 2 (2), as the "
                          "heads that head_output joins share keys and values; "
                          "got 4"));
  EXPECT_THAT(ProblemsOf(differential + "heads: 4 value_heads: 4"),
              ElementsAre(HasSubstr("value_heads: must divide `heads` / 2")));
}

TEST(ValidateMultiHeadTest, PointsAtTheHeadOutput) {
  const std::string layer = "heads: 2 attention { dot {} } ";
  EXPECT_THAT(ProblemsOf(layer + "head_output {}"),
              ElementsAre(HasSubstr("head_output: ")));
  EXPECT_THAT(ProblemsOf(layer + "head_output { norm { epsilon: 2 } }"),
              ElementsAre(HasSubstr("head_output.norm.epsilon: ")));
  EXPECT_THAT(ProblemsOf(layer + "head_output { gate { bias: 1e9 } }"),
              ElementsAre(HasSubstr("head_output.gate.bias: ")));
}

}  // namespace
}  // namespace regard
