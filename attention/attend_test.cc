#include "attention/attend.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring/dot.pb.h"
#include "attention/scoring_function.h"
#include "attention/scoring_kit.h"
#include "autodiff/fault_finder.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;

// A score whose InnerForm gives key 2 all the weight, but whose Score() returns
// 0 for every key. The context therefore shows whether the blocked kernel
// computed it.
template <typename T>
class TwoFaced : public ScoringFunction<T> {
 public:
  using Options = DotScore;
  TwoFaced(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override {
    const Var<T> keys = forward.tape().Full({1, 1, in.keys.dim(2), 1}, T(0));
    keys.data()[2] = T(1000);
    return InnerForm<T>{forward.tape().Full({1, 1, 1, 1}, T(1)), keys};
  }
  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return forward.tape().Full(ScoreShape(in), T(0));
  }
};

template <typename T>
class TwoFacedWithHistory : public TwoFaced<T> {
 public:
  static constexpr bool kUsesHistory = true;
  using TwoFaced<T>::TwoFaced;
};

// Index of the formula that Composed computes.
int formula = 0;
constexpr int kFormulas = 8;

// Formulas that contain r = max(1 - q . k, 0) and are -inf where r is 0.
template <typename T>
class Composed : public ScoringFunction<T> {
 public:
  using Options = DotScore;
  Composed(const Options&, ParameterScope<T>, const ScoreWidths&) {}

  Var<T> Score(Forward<T>&, const ScoreInputs<T>& in) const override {
    const Var<T> r = Relu(1 - InnerProducts(in.queries, in.keys));
    const Var<T> hidden =
        r.tape().Full({1}, -std::numeric_limits<T>::infinity());
    const Var<T> log = Log(r);
    const Var<T> parts[] = {log, r};
    const Var<T> logs[] = {log, Log(Exp(log))};
    switch (formula) {
      case 0:
        return log * 0.5;
      case 1:
        return -(1 / r);
      case 2:
        return Where(r, r, hidden) / 2;
      case 3:
        return 2 * Log(Sqrt(r)) - 1;
      case 4:
        return Log(Pow(r, 1.5)) + log;
      case 5:
        return Sum(Stack<T>(parts, 4), 4);
      case 6:
        return log * r.tape().Input({1}, {2}) / (r + 1);
      default:
        return Max(Concat<T>(logs, 1), 1, /*keep=*/true);
    }
  }
};

class AttendTest : public ::testing::Test {
 protected:
  AttendTest() { RegisterBuiltInScores(built_in_); }

  // An AttentionLayer with a built-in score, without parameters.
  std::unique_ptr<AttentionLayer<float>> Make(const std::string& config) {
    return Make(built_in_, config);
  }

  std::unique_ptr<AttentionLayer<float>> Make(const AttentionRegistry& scorers,
                                              const std::string& config) {
    Attention attention;
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(config, &attention));
    auto attender = std::make_unique<AttentionLayer<float>>(
        scorers, attention, store_.Root(),
        ScoreWidths{.heads = 1, .query = 2, .key = 2});
    store_.Finalize(0);
    forward_ = std::make_unique<Forward<float>>(tape_, store_, nullptr);
    forward_->BeginStep();
    return attender;
  }

  // One query (0, 0) and three keys, so that `dot` gives equal scores. The
  // values are 1, 2 and 6.
  AttendInputs<float> ThreeKeys() {
    AttendInputs<float> inputs;
    inputs.score.queries = tape_.Input({1, 1, 1, 2}, {0, 0});
    inputs.score.keys = tape_.Input({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6});
    inputs.values = tape_.Input({1, 1, 3, 1}, {1, 2, 6});
    return inputs;
  }

  AttentionRegistry built_in_;
  ParameterStore<float> store_;
  Tape<float> tape_;
  std::unique_ptr<Forward<float>> forward_;
};

TEST_F(AttendTest, TheContextIsTheWeightedMeanOfTheValues) {
  const auto attender = Make("dot {}");
  const AttentionResult<float> attended =
      attender->Attend(*forward_, ThreeKeys());
  EXPECT_THAT(attended.weights.span(), Each(FloatEq(1.f / 3)));
  EXPECT_THAT(attended.context.span(), ElementsAre(FloatEq(3)));
}

// All keys are equal. With lengths 2 and 6, the contexts must be the means of
// the first 2 and of the first 6 values.
TEST_F(AttendTest, MasksKeysByLength) {
  const auto attender = Make("dot {}");
  AttendInputs<float> inputs;
  inputs.score.queries = tape_.Full({2, 1, 1, 2}, 1);
  inputs.score.keys = tape_.Full({2, 1, 10, 2}, 1);
  inputs.values = tape_.Constant({2, 1, 10, 4});
  for (int64_t i = 0; i < 80; ++i) {
    inputs.values.data()[i] = static_cast<float>(i % 40);
  }
  const std::vector<int32_t> lengths = {2, 6};
  inputs.score.mask.key_lengths = lengths;
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  EXPECT_THAT(attended.context.span(),
              ElementsAre(FloatEq(2), FloatEq(3), FloatEq(4), FloatEq(5),
                          FloatEq(10), FloatEq(11), FloatEq(12), FloatEq(13)));
}

TEST_F(AttendTest, QueriesWithoutVisibleKeysGiveZeroInBothPasses) {
  const auto attender = Make("dot {} dropout: 0.5");
  const std::vector<int32_t> lengths = {0};
  for (const bool training : {false, true}) {
    forward_->BeginStep();
    tape_.set_training(training);
    AttendInputs<float> inputs = ThreeKeys();
    inputs.score.mask.key_lengths = lengths;
    const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
    EXPECT_THAT(attended.weights.span(), Each(0));
    EXPECT_THAT(attended.context.span(), Each(0));
    tape_.Backward(Sum(attended.context));
    EXPECT_THAT(std::vector<float>(inputs.score.queries.grad_data(),
                                   inputs.score.queries.grad_data() + 2),
                Each(0));
  }
}

TEST_F(AttendTest, AHeadFactorScalesTheContextAndNotTheWeights) {
  const auto attender = Make("dot {}");
  CapturingHook<float> hook("*");
  hook.set_head_factors(tape_.Input({1}, {0.5}));
  forward_->set_hook(&hook);
  const AttentionResult<float> attended =
      attender->Attend(*forward_, ThreeKeys());
  EXPECT_THAT(attended.weights.span(), Each(FloatEq(1.f / 3)));
  EXPECT_THAT(attended.context.span(), ElementsAre(FloatEq(1.5)));
}

TEST_F(AttendTest, ReportedWeightsAreBeforeDropoutInTraining) {
  const auto attender = Make("dot {} dropout: 0.5");
  constexpr int64_t kKeys = 1000;
  AttendInputs<float> inputs;
  inputs.score.queries = tape_.Full({1, 1, 1, 2}, 0);
  inputs.score.keys = tape_.Full({1, 1, kKeys, 2}, 1);
  inputs.values = tape_.Full({1, 1, kKeys, 1}, 1);
  const float kept = attender->Attend(*forward_, inputs).context.item();
  EXPECT_NEAR(kept, 1, 1e-5);
  tape_.set_training(true);
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  EXPECT_THAT(attended.weights.span(), Each(FloatEq(1.f / kKeys)));
  // The context is twice the fraction of kept weights. Its mean is 1, and its
  // standard deviation is 1 / sqrt(1000).
  EXPECT_NEAR(attended.context.item(), 1, 0.2);
  EXPECT_GT(std::abs(attended.context.item() - kept), 1e-4);
}

// Tests each part of the rule in docs/attention_drivers.md.
TEST_F(AttendTest, BlocksOfInnerFormFollowTheDocumentedRule) {
  constexpr float kBlocked = 6;  // the value of key 2
  constexpr float kRows = 3;     // the mean of all values
  const auto context = [&](const AttentionRegistry& scorers,
                           const std::string& rest, Hook<float>* hook,
                           bool context_only) {
    Attention config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("dot {} " + rest,
                                                              &config));
    ParameterStore<float> store;
    const AttentionLayer<float> layer(
        scorers, config, store.Root(),
        ScoreWidths{.heads = 1, .query = 2, .key = 2});
    store.Finalize(0);
    Forward<float> pass(tape_, store, nullptr);
    pass.BeginStep();
    pass.set_hook(hook);
    AttendInputs<float> inputs = ThreeKeys();
    inputs.context_only = context_only;
    return layer.Attend(pass, inputs).context.item();
  };
  AttentionRegistry scorers;
  scorers.Add<TwoFaced>("two");
  AttentionRegistry with_history;
  with_history.Add<TwoFacedWithHistory>("two");
  CapturingHook<float> reads("*");
  // These options, and hooks that only read, must not prevent the blocked
  // kernel.
  for (const std::string rest :
       {"", "position_encoding { rotary {} }", "position_encoding { alibi {} }",
        "window: 9", "dropout: 0.5", "block: 1", "normalizer { softmax {} }"}) {
    EXPECT_EQ(context(scorers, rest, nullptr, true), kBlocked) << rest;
    EXPECT_EQ(context(scorers, rest, &reads, true), kBlocked) << rest;
  }
  EXPECT_THAT(reads["attention/scores"].span(), Each(0));
  EXPECT_THAT(reads["attention/weights"].span(), Each(FloatEq(1.f / 3)));
  EXPECT_FALSE(reads["attention/weights"].needs_grad());
  // Requested weights, history, another normalizer and requested gradients must
  // prevent the blocked kernel.
  EXPECT_FLOAT_EQ(context(scorers, "", nullptr, false), kRows);
  EXPECT_FLOAT_EQ(context(with_history, "", nullptr, true), kRows);
  EXPECT_FLOAT_EQ(
      context(scorers, "normalizer { sparsemax {} }", nullptr, true), kRows);
  for (const char* site : {"attention/scores", "attention/weights"}) {
    CapturingHook<float> of_gradients(site, /*gradients=*/true);
    EXPECT_FLOAT_EQ(context(scorers, "", &of_gradients, true), kRows) << site;
  }
}

TEST_F(AttendTest, HookPointsAreTheInputsOfTheScoreAndItsResults) {
  const auto attender = Make("dot {} position_encoding { rotary {} }");
  AttendInputs<float> inputs = ThreeKeys();
  inputs.score.queries = tape_.Input({1, 1, 1, 2}, {1, 0});
  inputs.score.positions.first_query = 1;
  for (const bool gradients : {false, true}) {
    CapturingHook<float> hook("*", gradients);
    forward_->set_hook(&hook);
    attender->Attend(*forward_, inputs);
    EXPECT_THAT(hook.names(),
                ElementsAre("attention/queries", "attention/keys",
                            "attention/values", "attention/scores",
                            "attention/weights", "attention/context"));
    // Rotary encoding must rotate the query at position 1 by the angle 1.
    EXPECT_THAT(hook["*queries"].span(),
                ElementsAre(FloatEq(std::cos(1.f)), FloatEq(std::sin(1.f))));
  }
}

// The gradient of the context with respect to each weight must be the value of
// its key.
TEST_F(AttendTest, WeightsGetTheGradientOfTheContext) {
  const auto attender = Make("dot {}");
  const AttendInputs<float> inputs = ThreeKeys();
  CapturingHook<float> hook("*weights", /*gradients=*/true);
  forward_->set_hook(&hook);
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  tape_.Backward(Sum(attended.context));
  ASSERT_NE(attended.weights.grad_data(), nullptr);
  EXPECT_THAT(std::vector<float>(attended.weights.grad_data(),
                                 attended.weights.grad_data() + 3),
              ElementsAre(1, 2, 6));
}

// The score `average` has no gradient, but its weights must have gradients if a
// hook requests them.
TEST_F(AttendTest, WeightsHaveGradientsEvenIfScoresHaveNone) {
  const auto attender = Make("average {}");
  AttendInputs<float> inputs = ThreeKeys();
  inputs.values = tape_.Constant({1, 1, 3, 1}, {1, 2, 6});
  CapturingHook<float> hook("*weights", /*gradients=*/true);
  forward_->set_hook(&hook);
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  tape_.Backward(Sum(attended.context));
  EXPECT_THAT(std::vector<float>(attended.weights.grad_data(),
                                 attended.weights.grad_data() + 3),
              ElementsAre(1, 2, 6));
}

TEST_F(AttendTest, AWindowMasksDistantKeys) {
  const auto attender = Make("dot {} window: 2");
  AttendInputs<float> inputs = ThreeKeys();
  inputs.score.positions.first_query = 2;
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  EXPECT_THAT(attended.weights.span(), ElementsAre(0, 0.5, 0.5));
  EXPECT_THAT(attended.context.span(), ElementsAre(4));
}

TEST_F(AttendTest, TheNarrowerWindowApplies) {
  const auto attender = Make("dot {} window: 2");
  AttendInputs<float> inputs = ThreeKeys();
  inputs.score.positions.first_query = 2;
  inputs.score.mask.window = 1;
  EXPECT_THAT(attender->Attend(*forward_, inputs).weights.span(),
              ElementsAre(0, 0, 1));
  inputs.score.mask.window = 3;
  EXPECT_THAT(attender->Attend(*forward_, inputs).weights.span(),
              ElementsAre(0, 0.5, 0.5));
}

// A score of -inf must mask the second key and pass no gradient to it,
// whichever operation computed the score.
TEST_F(AttendTest, AScoreOfMinusInfinityMayBeComposedOfAnyOperations) {
  AttentionRegistry scorers;
  scorers.Add<Composed>("composed");
  const auto attender = Make(scorers, "dot {}");
  for (formula = 0; formula < kFormulas; ++formula) {
    forward_->BeginStep();
    FaultFinder<float> finder(tape_);
    AttendInputs<float> inputs = ThreeKeys();
    inputs.score.queries = tape_.Input({1, 1, 1, 2}, {0.25, 0.25});
    inputs.score.keys = tape_.Input({1, 1, 3, 2}, {0.5, 0.5, 2, 2, -1, 1});
    const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
    EXPECT_EQ(attended.weights.data()[1], 0) << formula;
    EXPECT_GT(attended.weights.data()[0], 0) << formula;
    tape_.Backward(Sum(attended.context));
    EXPECT_EQ(finder.fault(), "") << formula;
    const float* const d = inputs.score.keys.grad_data();
    EXPECT_NE(d[0], 0) << formula;
    EXPECT_THAT(std::vector<float>(d + 2, d + 4), Each(0)) << formula;
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(std::isfinite(d[i])) << formula;
  }
}

// The score `kernel` gives a distant key the score -inf. Adding a bias to this
// score must not be reported as a fault.
TEST_F(AttendTest, ABiasOfAScoreOfMinusInfinityIsNotAFault) {
  const auto attender =
      Make("kernel { shape: BOXCAR } position_encoding { alibi {} }");
  FaultFinder<float> finder(tape_);
  AttendInputs<float> inputs = ThreeKeys();
  inputs.score.keys = tape_.Input({1, 1, 3, 2}, {0, 0, 9, 9, 0, 0.5});
  CapturingHook<float> hook("*weights", /*gradients=*/true);
  forward_->set_hook(&hook);
  const AttentionResult<float> attended = attender->Attend(*forward_, inputs);
  tape_.Backward(Sum(attended.context));
  EXPECT_EQ(finder.fault(), "");
  EXPECT_EQ(attended.weights.data()[1], 0);
}

}  // namespace
}  // namespace regard
