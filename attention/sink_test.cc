#include "attention/sink.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/kernels/scaled_dot_attention.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
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

using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttentionRegistry BuiltIn() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

Attention Parse(const std::string& text) {
  Attention config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// Two query heads share a key head. The number of keys is smaller or larger
// than the block size.
TEST(SinkTest, GradientsOfTheBlockedKernel) {
  std::vector<GradientCase> cases;
  for (const int64_t keys : {1, 5, 300}) {
    for (const bool masked : {false, true}) {
      cases.push_back(MakeCase("ScaledDotAttention", "a sink",
                               {{{2, 2, 3, 4}, -2, 2},
                                {{2, 1, keys, 4}, -2, 2},
                                {{2, 1, keys, 2}},
                                {{2}, -2, 2}},
                               [=](auto&, auto in) {
                                 static constexpr int32_t kLengths[] = {3, 0};
                                 Mask mask;
                                 if (masked) mask.key_lengths = kLengths;
                                 return ScaledDotAttention(
                                     {in[0], in[1], 0.5}, in[2], mask,
                                     /*positions=*/{}, /*dropout=*/0,
                                     /*heads_side_by_side=*/0, in[3]);
                               }));
    }
  }
  CheckGradients(cases);
}

// There are one query, two keys with scores log 2 and log 3, and a sink with
// logit log 5. The weights of the keys must be 2/10 and 3/10.
TEST(SinkTest, ValuesAreAsComputedByHand) {
  const AttentionRegistry scorers = BuiltIn();
  for (const std::string score : {"dot {}", "formula { score: 'q . k' }"}) {
    for (const bool fused : {true, false}) {
      ParameterStore<double> store;
      const AttentionLayer<double> layer(
          scorers, Parse(score + " sink { logit: 1.6094379124341003 }"),
          store.Root(), {.heads = 1, .query = 1, .key = 1});
      store.Finalize(1);
      GradientSlab<double> gradients(store);
      Tape<double> tape;
      Forward<double> forward(tape, store, &gradients);
      forward.BeginStep();
      AttendInputs<double> in;
      in.score.queries = tape.Input({1, 1, 1, 1}, {1});
      in.score.keys = layer.Prepare(
          forward,
          {.keys = tape.Input({1, 1, 2, 1}, {std::log(2.0), std::log(3.0)})});
      in.values = tape.Input({1, 1, 2, 1}, {10, 20});
      in.context_only = fused;
      const AttentionResult<double> attended = layer.Attend(forward, in);
      // The context is (2 * 10 + 3 * 20) / (2 + 3 + 5).
      EXPECT_NEAR(attended.context.data()[0], 8, 1e-12) << score;
      if (!fused) {
        EXPECT_NEAR(attended.weights.data()[0], 0.2, 1e-12);
        EXPECT_NEAR(attended.weights.data()[1], 0.3, 1e-12);
      }
      forward.Backward({attended.context}, {1});
      // The context is 80 / (5 + exp(z)), so its derivative is -80 * 5 / 100.
      EXPECT_NEAR(gradients.values()[0], -4, 1e-12) << score;
    }
  }
}

TEST(SinkTest, AConstantSinkHasNoParameter) {
  const AttentionRegistry scorers = BuiltIn();
  ParameterStore<float> learned, constant;
  const ScoreWidths widths = {.heads = 3, .query = 2, .key = 2};
  AttentionLayer<float>(scorers, Parse("dot {} sink { logit: -1 }"),
                        learned.Root(), widths);
  AttentionLayer<float>(scorers, Parse("dot {} sink { learned: false }"),
                        constant.Root(), widths);
  learned.Finalize(1);
  EXPECT_EQ(constant.num_elements(), 0);
  ASSERT_EQ(learned.num_elements(), 3);
  EXPECT_THAT(learned.value(*learned.FindByName("sink.logit")),
              ::testing::Each(-1.f));
}

// Returns the output of causal self-attention for 2 examples with `time`
// positions each.
std::vector<float> SelfAttention(const std::string& attention, int64_t time) {
  MultiHead config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "heads: 4 key_heads: 2 attention { " + attention + " }", &config));
  const AttentionRegistry scorers = BuiltIn();
  ParameterStore<float> store;
  const MultiHeadAttention<float> layer(scorers, config, store.Root(),
                                        {8, 8, 8});
  store.Finalize(3);
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

TEST(SinkTest, AFarSinkIsPlainAttentionToTheBit) {
  for (const std::string score :
       {"scaled_dot {}", "scaled_dot {} position_encoding { rotary {} }",
        "scaled_dot {} position_encoding { alibi {} }",
        "additive {} normalizer { sparsemax {} }",
        "scaled_dot {} normalizer { entmax15 {} }"}) {
    for (const int64_t time : {1, 5, 300}) {
      const std::vector<float> plain = SelfAttention(score, time);
      EXPECT_EQ(SelfAttention(score + " sink { logit: -10000 }", time), plain)
          << score;
      EXPECT_NE(SelfAttention(score + " sink {}", time), plain) << score;
    }
  }
}

TEST(SinkTest, RequiresWeightsThatShareASum) {
  const AttentionRegistry scorers = BuiltIn();
  const auto problems_of = [&](const std::string& config) {
    ConfigProblems problems;
    scorers.Validate(Parse(config), {.heads = 1, .query = 2, .key = 2},
                     problems);
    std::vector<std::string> texts;
    for (const ConfigProblems::Problem& problem : problems.problems()) {
      texts.push_back(problem.path + ": " + problem.message);
    }
    return texts;
  };
  EXPECT_THAT(problems_of("dot {} sink {}"), IsEmpty());
  EXPECT_THAT(problems_of("dot {} sink {} normalizer { entmax15 {} }"),
              IsEmpty());
  EXPECT_THAT(problems_of("dot {} sink {} normalizer { sigmoid {} }"),
              ::testing::ElementsAre(HasSubstr("sink: requires a normalizer")));
  EXPECT_THAT(problems_of("dot {} sink {} normalizer { relu_squared {} }"),
              ::testing::ElementsAre(HasSubstr("ReluSquaredNormalizer")));
  EXPECT_THAT(problems_of("dot {} sink {} normalizer { scalable_softmax {} }"),
              IsEmpty());
  EXPECT_THAT(problems_of("dot {} sink { none {} } normalizer { sigmoid {} }"),
              IsEmpty());
  EXPECT_THAT(problems_of("dot {} sink { logit: 1e9 }"),
              ::testing::ElementsAre(HasSubstr("sink.logit: ")));
}

}  // namespace
}  // namespace regard
