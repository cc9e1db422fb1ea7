#include "attention/forget_gate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/checks/tape_state.h"
#include "attention/kernels/difference_bias.h"
#include "attention/kernels/inner_form.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/layer_state.h"
#include "attention/mask.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/gradient_check.h"
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

AttentionRegistry BuiltIn() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

template <typename T>
T ParseAs(const std::string& text) {
  T config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

template <typename T>
void SetParameter(const char* name, std::vector<T> values,
                  ParameterStore<T>* store) {
  const auto to = store->value(*store->FindByName(name));
  ASSERT_EQ(to.size(), values.size()) << name;
  std::copy(values.begin(), values.end(), to.begin());
}

// Two query heads share a key head. The numbers of queries and keys are equal
// or different, and smaller or larger than the block size.
TEST(ForgetGateTest, GradientsOfTheBlockedKernel) {
  std::vector<GradientCase> cases;
  for (const auto& [queries, keys] :
       {std::pair(1, 1), {3, 5}, {1, 300}, {130, 3}}) {
    for (const bool masked : {false, true}) {
      cases.push_back(MakeCase("ScaledDotAttention", "a difference",
                               {{{2, 2, queries, 4}, -2, 2},
                                {{2, 1, keys, 4}, -2, 2},
                                {{2, 1, keys, 2}},
                                {{2, 2, queries, 1}, -2, 2},
                                {{2, 2, keys, 1}, -2, 2},
                                {{2}, -2, 2}},
                               [=](auto&, auto in) {
                                 static constexpr int32_t kLengths[] = {2, 0};
                                 Mask mask;
                                 if (masked) mask.key_lengths = kLengths;
                                 return ScaledDotAttention(
                                     {.a = in[0],
                                      .b = in[1],
                                      .factor = 0.5,
                                      .difference_bias = {in[3], in[4]}},
                                     in[2], mask, /*positions=*/{},
                                     /*dropout=*/0, /*heads_side_by_side=*/0,
                                     in[5]);
                               }));
    }
  }
  CheckGradients(cases);
}

TEST(ForgetGateTest, GradientsOfDenseScores) {
  std::vector<GradientCase> cases;
  for (const auto& [queries, keys] : {std::pair(0, 2), {1, 1}, {3, 2}}) {
    cases.push_back(MakeCase(
        "DenseScores", "a difference",
        {{{2, 2, queries, 3}},
         {{2, 1, keys, 3}},
         {{2, 2, queries, 1}},
         {{2, 2, keys, 1}}},
        []<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          return DenseScores(
              InnerForm<T>{
                  .a = in[0], .b = in[1], .difference_bias = {in[2], in[3]}},
              /*positions=*/{});
        }));
  }
  CheckGradients(cases);
}

TEST(ForgetGateDeathTest, ABiasCoversAllScores) {
  Tape<double> tape;
  const auto zeros = [&](const Shape& shape) { return tape.Constant(shape); };
  EXPECT_DEATH(ScaledDotAttention({.a = zeros({1, 2, 3, 4}),
                                   .b = zeros({1, 1, 5, 4}),
                                   .difference_bias = {zeros({1, 2, 3, 1}),
                                                       zeros({1, 1, 5, 1})}},
                                  zeros({1, 1, 5, 2}), Mask()),
               "for scores");
}

// The gates of one head are 1/2, 1/4 and 1/5, and the gates of the other head
// are always 1. The sums of logarithms must be log(1/2), log(1/8), log(1/40),
// and 0.
TEST(ForgetGateTest, SumsLogarithmsOfGates) {
  ParameterStore<double> store;
  StateSlotNames slots;
  const SlotScope scope(slots, "layer");
  const ForgetGate<double> gate(
      ParseAs<Forget>("bias: 1"), store.Root(),
      {.heads = 2, .query = 1, .key = 1, .query_input = 1, .slots = &scope});
  EXPECT_THAT(slots.names(), ElementsAre("layer.sum", "layer.sums"));
  store.Finalize(1);
  EXPECT_THAT(store.value(*store.FindByName("bias")), ElementsAre(1, 1));
  SetParameter("weight", {-1, 0}, &store);
  SetParameter("bias", {0, 1000}, &store);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  const std::vector<double> inputs = {0, std::log(3), std::log(4)};
  const std::vector<double> expected = {std::log(1 / 2.0), std::log(1 / 8.0),
                                        std::log(1 / 40.0)};
  const auto expect = [&](Var<double> sums, int64_t begin, int64_t count) {
    ASSERT_EQ(sums.shape(), Shape({1, 2, count, 1}));
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_NEAR(sums.data()[i], expected[begin + i], 1e-15);
      EXPECT_EQ(sums.data()[count + i], 0);
    }
  };
  const DifferenceBias<double> all =
      gate.Bias(forward, tape.Constant({1, 3, 1}, inputs), nullptr);
  expect(all.queries, 0, 3);
  expect(all.keys, 0, 3);
  TapeLayerState<double> state(slots);
  gate.Bias(forward, tape.Constant({1, 2, 1}, {inputs[0], inputs[1]}), &state);
  const DifferenceBias<double> last =
      gate.Bias(forward, tape.Constant({1, 1, 1}, {inputs[2]}), &state);
  expect(last.queries, 2, 1);
  expect(last.keys, 0, 3);
}

// Returns the output of causal self-attention for 2 examples with `time`
// positions each. With gates_of_one, the gates have weights of 0 and a bias of
// 200. All gates are then exactly 1, because exp(-200) is 0 in float.
std::vector<float> SelfAttention(const std::string& attention, int64_t time,
                                 bool gates_of_one = false) {
  const AttentionRegistry scorers = BuiltIn();
  ParameterStore<float> store;
  const MultiHeadAttention<float> layer(
      scorers,
      ParseAs<MultiHead>("heads: 4 key_heads: 2 attention { " + attention +
                         " }"),
      store.Root(), {8, 8, 8});
  store.Finalize(3);
  if (gates_of_one) {
    SetParameter("score.forget.weight", std::vector<float>(4 * 8, 0), &store);
    SetParameter("score.forget.bias", std::vector<float>(4, 200), &store);
  }
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  forward.BeginStep();
  const Var<float> x = tape.Constant({2, time, 8});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = std::sin(static_cast<float>(i * i));
  }
  const Var<float> y = layer(forward, x, layer.Prepare(forward, x, x),
                             {.mask = {.causal = true}});
  return {y.span().begin(), y.span().end()};
}

TEST(ForgetGateTest, GatesOfOneArePlainAttentionToTheBit) {
  for (const std::string score :
       {"scaled_dot {}", "scaled_dot {} position_encoding { rotary {} }",
        "scaled_dot {} position_encoding { alibi {} }", "additive {}",
        "cosine {} sink {}", "scaled_dot {} window: 3",
        "additive {} normalizer { sparsemax {} } map_after { soft_cap { cap: "
        "0.5 } }"}) {
    for (const int64_t time : {1, 5, 300}) {
      const std::vector<float> plain = SelfAttention(score, time);
      const std::string forgets = score + " forget {}";
      EXPECT_EQ(SelfAttention(forgets, time, /*gates_of_one=*/true), plain)
          << score;
      if (time == 1) continue;
      EXPECT_NE(SelfAttention(forgets, time), plain) << score;
    }
  }
}

TEST(ForgetGateTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  const AttentionRegistry scorers = BuiltIn();
  for (const char* attention :
       {"scaled_dot {} forget {}", "additive {} block: 3 forget {}"}) {
    ParameterStore<float> store;
    const MultiHeadAttention<float> layer(
        scorers,
        ParseAs<MultiHead>(std::string("heads: 2 attention { ") + attention +
                           " }"),
        store.Root(), {8, 8, 8});
    store.Finalize(1);
    GradientSlab<float> gradients(store);
    Tape<float> tape;
    Forward<float> forward(tape, store, &gradients);
    const auto step = [&] {
      forward.BeginStep();
      const Var<float> x = tape.Full({2, 10, 8}, 0.5F);
      const Var<float> y = layer(forward, x, layer.Prepare(forward, x, x),
                                 {.mask = {.causal = true}});
      tape.Backward(Sum(y));
    };
    for (int i = 0; i < 3; ++i) step();
    const int64_t before = AllocationCount();
    step();
    EXPECT_EQ(AllocationCount() - before, 0) << attention;
  }
}

// The sums are near -20,000, where adjacent floats differ by 0.002. The
// difference of two sums must be computed before the score is added. Otherwise,
// the last digits of the score would be lost.
TEST(ForgetGateTest, ComputesDifferencesBeforeAddingThem) {
  Tape<float> tape;
  const Var<float> scores = tape.Constant({1, 1, 1, 2}, {0.1F, 0.2F});
  const Var<float> sums = tape.Constant({1, 1, 1, 1}, {-20000});
  const Var<float> both = tape.Constant({1, 1, 2, 1}, {-19999, -20000});
  const Var<float> sum = AddDifferenceBias(scores, {sums, both});
  EXPECT_EQ(sum.data()[0], 0.1F - 1);
  EXPECT_EQ(sum.data()[1], 0.2F);
  const Var<float> one = tape.Constant({1, 1, 2, 1}, {0.1F, 0.2F});
  const Var<float> values = tape.Constant({1, 1, 2, 1}, {0, 1});
  const Var<float> context =
      ScaledDotAttention({.a = tape.Constant({1, 1, 1, 1}, {1}),
                          .b = one,
                          .difference_bias = {sums, both}},
                         values, Mask());
  EXPECT_NEAR(context.data()[0], 1 / (1 + std::exp(-1.1)), 1e-7);
}

TEST(ForgetGateTest, RequiresTheInputOfALayer) {
  const AttentionRegistry scorers = BuiltIn();
  const auto problems_of = [&](const std::string& config, int64_t input) {
    ConfigProblems problems;
    scorers.Validate(ParseAs<Attention>(config),
                     {.heads = 1, .query = 2, .key = 2, .query_input = input},
                     problems);
    std::vector<std::string> texts;
    for (const ConfigProblems::Problem& problem : problems.problems()) {
      texts.push_back(problem.path + ": " + problem.message);
    }
    return texts;
  };
  EXPECT_THAT(problems_of("dot {} forget {}", 4), IsEmpty());
  EXPECT_THAT(problems_of("dot {} forget {}", 0),
              ElementsAre(HasSubstr("forget: requires an attention that has")));
  EXPECT_THAT(problems_of("dot {} forget { bias: 1e9 }", 4),
              ElementsAre(HasSubstr("forget.bias: ")));
}

TEST(ForgetGateDeathTest, RequiresCausalSelfAttention) {
  const AttentionRegistry scorers = BuiltIn();
  ParameterStore<float> store;
  const MultiHeadAttention<float> layer(
      scorers, ParseAs<MultiHead>("heads: 2 attention { dot {} forget {} }"),
      store.Root(), {4, 4, 4});
  store.Finalize(1);
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  forward.BeginStep();
  const Var<float> x = tape.Full({1, 3, 4}, 1);
  const Var<float> longer = tape.Full({1, 5, 4}, 1);
  EXPECT_DEATH(layer(forward, x, layer.Prepare(forward, x, x), {}),
               "requires causal self-attention");
  EXPECT_DEATH(layer(forward, x, layer.Prepare(forward, longer, longer),
                     {.mask = {.causal = true}}),
               "requires causal self-attention");
}

}  // namespace
}  // namespace regard
