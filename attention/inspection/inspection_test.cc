#include "attention/inspection/inspection.h"

#include <cmath>
#include <string>
#include <vector>

#include "attention/inspection/patching.h"
#include "attention/inspection/trace.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

constexpr int kPositions = 3;
constexpr int kHeads = 2;

// Weights [heads, queries, keys] of two heads and three positions.
const std::vector<double> kWeights = {1, 0, 0, .5, .5, 0, .2, .3, .5,
                                      1, 0, 0, .1, .9, 0, .6, .3, .1};
const std::vector<double> kInputs = {1, -2, .5, 1, -1, 3};
const std::vector<int32_t> kTargets = {0, 1, 1};

// A pass with one layer and an input [1, 3, 2]. Head h averages element h over
// the positions. At each position, the contexts of the two heads are the logits
// of the prediction 0 or 1.
TraceablePrediction<double> Toy(std::vector<double> inputs,
                                std::vector<double> all_weights = kWeights) {
  TraceablePrediction<double> traced;
  TraceDescription& labels = traced.labels;
  labels.sequences = {
      {.name = "text", .labels = {"a", "b", "c"}, .writes = {"b", "c", "d"}}};
  labels.sites = {{"*", 0, 0}};
  for (int t = 0; t < kPositions; ++t) {
    labels.outputs.push_back({labels.sequences[0].writes[t], t});
  }
  labels.successive = true;
  labels.alignment = "*self/attention/weights";
  traced.pass = [inputs, all_weights](Forward<double>& forward) {
    Tape<double>& tape = forward.tape();
    const NameScope<double> decoder(tape, "decoder");
    const int64_t positions = static_cast<int64_t>(inputs.size()) / kHeads;
    const Var<double> x =
        forward.Site("embedded", tape.Constant({1, positions, kHeads}, inputs));
    const NameScope<double> layer(tape, "layers", 0);
    Var<double> context;
    {
      const NameScope<double> self(tape, "self");
      const NameScope<double> attention(tape, "attention");
      const Var<double> weights = forward.Site(
          "weights",
          tape.Constant({1, kHeads, kPositions, kPositions}, all_weights));
      const Var<double> values =
          Permute(x.Reshape({1, positions, kHeads, 1}), {0, 2, 1, 3});
      context = forward.Site("context",
                             MatMul(weights, Slice(values, 2, 0, kPositions)));
    }
    const NameScope<double> feed_forward(tape, "feed_forward");
    const Var<double> residual = forward.Site(
        "residual",
        Permute(context, {0, 2, 1, 3}).Reshape({1, kPositions, kHeads}));
    return PickPerRow(LogSoftmax(residual), kTargets);
  };
  traced.lens = {.sites = "decoder/layers[*]/feed_forward/residual",
                 .rows = labels.sequences[0].writes,
                 .log_probabilities =
                     [](Forward<double>&, Var<double> residual) {
                       return LogSoftmax(residual);
                     },
                 .name = [](size_t i) { return i == 0 ? "zero" : "one"; }};
  return traced;
}

double Weight(int head, int query, int key) {
  return kWeights[(head * kPositions + query) * kPositions + key];
}

double Context(int head, int query) {
  double sum = 0;
  for (int key = 0; key < kPositions; ++key) {
    sum += Weight(head, query, key) * kInputs[key * kHeads + head];
  }
  return sum;
}

double LogProbability(int query, int choice) {
  return Context(choice, query) -
         std::log(std::exp(Context(0, query)) + std::exp(Context(1, query)));
}

// Returns the derivative of the log-probability of the output at a position
// with respect to the context of a head at this position.
double ByContext(int head, int query) {
  return (kTargets[query] == head ? 1 : 0) -
         std::exp(LogProbability(query, head));
}

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() : forward_(tape_, Finalized(), nullptr) {}

  const ParameterStore<double>& Finalized() {
    none_.Finalize(0);
    return none_;
  }

  ParameterStore<double> none_;
  Tape<double> tape_;
  Forward<double> forward_;
};

TEST_F(InspectTest, ARowHasTheGradientOfTheOutputAtItsPosition) {
  const Inspection<double> seen = Inspect(forward_, Toy(kInputs), {});
  ASSERT_EQ(seen.maps.size(), 1u);
  EXPECT_EQ(seen.maps[0].site, "decoder/layers[0]/self/attention/weights");
  EXPECT_EQ(seen.maps[0].weights, kWeights);
  std::vector<double> expected;
  for (int head = 0; head < kHeads; ++head) {
    for (int query = 0; query < kPositions; ++query) {
      for (int key = 0; key < kPositions; ++key) {
        expected.push_back(ByContext(head, query) *
                           kInputs[key * kHeads + head]);
      }
    }
  }
  EXPECT_THAT(seen.maps[0].gradients, Pointwise(DoubleNear(1e-12), expected));
  for (int t = 0; t < kPositions; ++t) {
    EXPECT_NEAR(seen.outputs[t], LogProbability(t, kTargets[t]), 1e-12);
  }
  EXPECT_NEAR(seen.ChosenOutputValue(),
              seen.outputs[0] + seen.outputs[1] + seen.outputs[2], 1e-12);
}

TEST_F(InspectTest, NonSuccessiveOutputsHaveGradientsOfTheChosenOutput) {
  TraceablePrediction<double> traced = Toy(kInputs);
  traced.labels.successive = false;
  const Inspection<double> seen = Inspect(forward_, traced, {.chosen = 1});
  EXPECT_EQ(seen.ChosenOutputValue(), seen.outputs[1]);
  for (int i = 0; i < kHeads * kPositions * kPositions; ++i) {
    const int head = i / (kPositions * kPositions);
    const int query = i / kPositions % kPositions;
    const double expected =
        query == 1 ? ByContext(head, 1) * kInputs[i % kPositions * 2 + head]
                   : 0;
    EXPECT_NEAR(seen.maps[0].gradients[i], expected, 1e-12) << i;
  }
}

TEST_F(InspectTest, ImportanceAndInputsBelongToTheChosenOutput) {
  for (const int64_t chosen : {kAllOutputs, int64_t{2}}) {
    const Inspection<double> seen =
        Inspect(forward_, Toy(kInputs), {.chosen = chosen});
    ASSERT_EQ(seen.heads.size(), 1u);
    EXPECT_EQ(seen.heads[0].site, "decoder/layers[0]/self/attention/context");
    ASSERT_EQ(seen.inputs.size(), 1u);
    EXPECT_EQ(seen.inputs[0].site, "decoder/embedded");
    EXPECT_THAT(seen.inputs[0].labels, ElementsAre("a", "b", "c"));
    double by_input[kPositions][kHeads] = {};
    for (int head = 0; head < kHeads; ++head) {
      double importance = 0;
      for (int t = 0; t < kPositions; ++t) {
        if (chosen >= 0 && t != chosen) continue;
        importance += Context(head, t) * ByContext(head, t);
        for (int key = 0; key < kPositions; ++key) {
          by_input[key][head] += ByContext(head, t) * Weight(head, t, key);
        }
      }
      EXPECT_NEAR(seen.heads[0].heads[head], std::abs(importance), 1e-12);
    }
    for (int key = 0; key < kPositions; ++key) {
      EXPECT_NEAR(seen.inputs[0].norms[key],
                  std::hypot(by_input[key][0], by_input[key][1]), 1e-12);
    }
  }
}

TEST_F(InspectTest, ReportsRolloutAndThePredictionOfEachLayer) {
  const Inspection<double> seen =
      Inspect(forward_, Toy(kInputs), {.most_choices = 1});
  ASSERT_EQ(seen.rollouts.size(), 1u);
  EXPECT_EQ(seen.rollouts[0].stack, "decoder");
  // The rollout of one layer is (A + I) / 2, where A is the mean over heads.
  EXPECT_THAT(
      seen.rollouts[0].shares,
      Pointwise(DoubleNear(1e-12), {1., 0., 0., .15, .85, 0., .2, .15, .65}));
  EXPECT_THAT(seen.rollouts[0].rows, ElementsAre("b", "c", "d"));
  EXPECT_THAT(seen.rollouts[0].columns, ElementsAre("a", "b", "c"));
  ASSERT_EQ(seen.lens.size(), 1u);
  ASSERT_EQ(seen.lens[0].rows.size(), 3u);
  for (int t = 0; t < kPositions; ++t) {
    const int best = Context(0, t) > Context(1, t) ? 0 : 1;
    ASSERT_EQ(seen.lens[0].rows[t].size(), 1u);
    EXPECT_EQ(seen.lens[0].rows[t][0].name, best == 0 ? "zero" : "one");
    EXPECT_NEAR(seen.lens[0].rows[t][0].probability,
                std::exp(LogProbability(t, best)), 1e-6);
  }
}

// State mixers can have negative weights. Products of such weights are not
// fractions, so there must be no rollout.
TEST_F(InspectTest, WeightsBelowZeroHaveNoRollout) {
  std::vector<double> weights = kWeights;
  EXPECT_THAT(Inspect(forward_, Toy(kInputs, weights), {}).labels.notes,
              IsEmpty());
  weights[3] = -.5;
  const Inspection<double> seen = Inspect(forward_, Toy(kInputs, weights), {});
  EXPECT_EQ(seen.maps[0].weights, weights);
  EXPECT_THAT(seen.rollouts, IsEmpty());
  EXPECT_THAT(seen.labels.notes,
              ElementsAre("decoder has no rollout, because some of its weights "
                          "are below 0"));
}

// Calls of the lens are not part of a prediction, so a hook must not see them.
TEST_F(InspectTest, AHookDoesNotSeeThePredictionsOfLayers) {
  SiteValueRecorder<double> recorder({"logits", "decoder/embedded"});
  forward_.set_hook(&recorder);
  TraceablePrediction<double> traced = Toy(kInputs);
  traced.lens.log_probabilities = [](Forward<double>& forward,
                                     Var<double> residual) {
    return forward.Site("logits", LogSoftmax(residual));
  };
  EXPECT_EQ(Inspect(forward_, traced, {}).lens.size(), 1u);
  EXPECT_EQ(forward_.hook(), &recorder);
  EXPECT_EQ(recorder.Find("logits"), nullptr);
  EXPECT_NE(recorder.Find("decoder/embedded"), nullptr);
}

TEST_F(InspectTest, AlignsByTheMeanOfHeadsOrOne) {
  TraceablePrediction<double> traced = Toy(kInputs);
  EXPECT_THAT(
      Inspect(forward_, traced, {}).AlignmentWeights(),
      Pointwise(DoubleNear(1e-12), {1., 0., 0., .3, .7, 0., .4, .3, .3}));
  traced.labels.alignment_head = 1;
  EXPECT_THAT(Inspect(forward_, traced, {}).AlignmentWeights(),
              ElementsAre(1, 0, 0, .1, .9, 0, .6, .3, .1));
  traced.labels.alignment = "";
  const Inspection<double> without = Inspect(forward_, traced, {});
  EXPECT_EQ(without.AlignmentMap(), nullptr);
  EXPECT_THAT(without.AlignmentWeights(), IsEmpty());
}

TEST_F(InspectTest, WithoutOutputsThereAreOnlyWeights) {
  TraceablePrediction<double> traced = Toy(kInputs);
  traced.labels.outputs.clear();
  traced.pass = [pass = traced.pass](Forward<double>& forward) {
    pass(forward);
    return Var<double>();
  };
  const Inspection<double> seen = Inspect(forward_, traced, {});
  EXPECT_EQ(seen.maps[0].weights, kWeights);
  EXPECT_THAT(seen.heads, IsEmpty());
  EXPECT_THAT(seen.inputs, IsEmpty());
  EXPECT_EQ(seen.rollouts.size(), 1u);
}

TEST(EntropyTest, IsInNats) {
  EXPECT_NEAR(Entropy({.25, .25, .25, .25}), std::log(4), 1e-12);
  EXPECT_EQ(Entropy({0, 1}), 0);
}

// Weights need not sum to 1: their sum is below 1 with a sink, and the weights
// of state mixers may be negative.
TEST(EntropyTest, UsesFractionsOfTheSumOfMagnitudes) {
  EXPECT_NEAR(Entropy({.1, .1}), std::log(2), 1e-12);
  EXPECT_NEAR(Entropy({-3, 3, 0}), std::log(2), 1e-12);
  EXPECT_EQ(Entropy({0, 0}), 0);
}

TEST(TraceDescriptionTest, KeysAndValuesHaveThePositionsOfTheKeys) {
  TraceDescription labels;
  labels.sequences = {{.name = "source", .labels = {"a", "b"}},
                      {.name = "target", .labels = {"c"}}};
  labels.sites = {{"encoder/*", 0, 0}, {"*cross*", 1, 0}};
  EXPECT_THAT(labels.QueryLabels("x/cross/attention/keys", 2),
              ElementsAre("a", "b"));
  EXPECT_THAT(labels.QueryLabels("x/cross/attention/values", 2),
              ElementsAre("a", "b"));
  EXPECT_THAT(labels.QueryLabels("x/cross/attention/context", 1),
              ElementsAre("c"));
  EXPECT_THAT(labels.KeyLabels("encoder/attention/weights", 2),
              ElementsAre("a", "b"));
  // The labels must be numbers if the length of the sequence differs from the
  // requested length, or if no pattern matches.
  EXPECT_THAT(labels.KeyLabels("encoder/attention/weights", 3),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(labels.QueryLabels("elsewhere", 1), ElementsAre("0"));
  EXPECT_THAT(labels.KeyLabels("elsewhere", 2), ElementsAre("0", "1"));
  EXPECT_EQ(labels.Find("elsewhere"), nullptr);
}

TEST(TraceTest, HasNoPositionAndNoHeadByDefault) {
  EXPECT_EQ(TracedOutputLabel().position, -1);
  EXPECT_EQ(TraceDescription().alignment_head, -1);
  EXPECT_EQ(TraceDescription().chosen, -1);
}

TEST(TraceTest, RejectsInputsThatCannotBeTraced) {
  EXPECT_THAT(CheckTracedSize("input", 100), testing::IsOk());
  EXPECT_THAT(CheckTracedSize("input", 1, 1), testing::IsOk());
  EXPECT_EQ(CheckTracedSize("input", 101).message(),
            "input: requires 1 to 100 tokens, got 101");
  EXPECT_EQ(CheckTracedSize("target", 0, 7).message(),
            "target: requires 1 to 7 tokens, got 0");
  EXPECT_THAT(CheckNoTarget({}), testing::IsOk());
  EXPECT_EQ(CheckNoTarget({.target = ""}).message(),
            "target: applies only to models that write text");
  EXPECT_EQ(CheckNoTarget({.beam = 1}).message(),
            "beam: applies only to models that write text");
}

using PatchTest = InspectTest;

TEST_F(PatchTest, PatchingTheSameInputChangesNothing) {
  const TraceablePrediction<double> traced = Toy(kInputs);
  const auto patched = Patch(forward_, traced, traced, "*", kAllOutputs);
  ASSERT_THAT(patched.status(), testing::IsOk());
  EXPECT_EQ(patched->value, patched->other_value);
  EXPECT_EQ(patched->sites.size(), 4u);
  for (const PatchedSite& of : patched->sites) {
    EXPECT_EQ(of.changes.size(), 3u);
    EXPECT_THAT(of.changes, Each(0.0)) << of.site;
  }
}

TEST_F(PatchTest, EachPassReusesTheMemoryOfThePreviousPass) {
  const TraceablePrediction<double> traced = Toy(kInputs);
  ASSERT_THAT(Patch(forward_, traced, traced, "*", kAllOutputs).status(),
              testing::IsOk());
  const size_t bytes = forward_.tape().high_water_bytes();
  ASSERT_THAT(Patch(forward_, traced, traced, "*", kAllOutputs).status(),
              testing::IsOk());
  EXPECT_EQ(forward_.tape().high_water_bytes(), bytes);
}

TEST_F(PatchTest, PatchingTheLastResidualGivesThePredictionOfTheOtherInput) {
  std::vector<double> inputs = kInputs;
  inputs[3] = -4;
  const auto patched =
      Patch(forward_, Toy(kInputs), Toy(inputs), "*/residual", 2);
  ASSERT_THAT(patched.status(), testing::IsOk());
  EXPECT_NEAR(patched->value, LogProbability(2, 1), 1e-12);
  EXPECT_LT(patched->other_value, patched->value);
  ASSERT_EQ(patched->sites.size(), 1u);
  const PatchedSite& residual = patched->sites[0];
  EXPECT_EQ(residual.site, "decoder/layers[0]/feed_forward/residual");
  EXPECT_THAT(residual.labels, ElementsAre("b", "c", "d"));
  EXPECT_THAT(residual.changes,
              ElementsAre(0, 0, patched->other_value - patched->value));
}

TEST_F(PatchTest, PatchesOnePositionOfAllHeads) {
  std::vector<double> inputs = kInputs;
  for (double& input : inputs) input += 1;
  inputs[1] += 1;
  const auto patched =
      Patch(forward_, Toy(kInputs), Toy(inputs), "*context", kAllOutputs);
  ASSERT_THAT(patched.status(), testing::IsOk());
  // With the patch, the contexts of the two heads at position 1 are 0.75 + 1
  // and 0.1 * 0 + 0.9 * 2.
  const double change =
      1.8 - std::log(std::exp(1.75) + std::exp(1.8)) - LogProbability(1, 1);
  EXPECT_NEAR(patched->sites[0].changes[1], change, 1e-12);
}

TEST_F(PatchTest, TheStepsOfAHookPointAreItsPositions) {
  const auto steps = [](double second) {
    TraceablePrediction<double> traced;
    traced.labels.outputs = {{"sum"}};
    traced.labels.inputs = {};
    traced.pass = [second](Forward<double>& forward) {
      Tape<double>& tape = forward.tape();
      std::vector<Var<double>> states;
      for (int t = 0; t < 2; ++t) {
        const NameScope<double> step(tape, "step", t);
        states.push_back(
            forward.Site("state", tape.Full({2, 1}, t == 0 ? 1 : second)));
      }
      return Slice(Concat<double>(states, 0), 0, 3, 1).Reshape({1});
    };
    return traced;
  };
  const auto patched = Patch(forward_, steps(5), steps(7), "*", 0);
  ASSERT_THAT(patched.status(), testing::IsOk());
  ASSERT_EQ(patched->sites.size(), 1u);
  EXPECT_EQ(patched->sites[0].site, "step[*]/state");
  EXPECT_THAT(patched->sites[0].labels, ElementsAre("0", "1"));
  EXPECT_THAT(patched->sites[0].changes, ElementsAre(0, 2));
}

// Positions are on the second-to-last axis, so a hook point with only one axis
// must count as one position.
TEST_F(PatchTest, AVectorIsOnePosition) {
  const auto sum_of = [](double value) {
    TraceablePrediction<double> traced;
    traced.labels.outputs = {{"sum"}};
    traced.pass = [value](Forward<double>& forward) {
      Tape<double>& tape = forward.tape();
      const Var<double> table =
          forward.Site("table", tape.Full({3, 2}, value)).Reshape({6});
      const Var<double> vector = forward.Site("vector", tape.Full({2}, value));
      return Sum(Concat<double>({table, vector}, 0)).Reshape({1});
    };
    return traced;
  };
  const auto patched = Patch(forward_, sum_of(1), sum_of(3), "*", 0);
  ASSERT_THAT(patched.status(), testing::IsOk());
  ASSERT_EQ(patched->sites.size(), 2u);
  EXPECT_THAT(patched->sites[0].changes, ElementsAre(4, 4, 4));
  EXPECT_THAT(patched->sites[1].changes, ElementsAre(4));
}

TEST_F(PatchTest, BothInputsHaveTheChosenOutput) {
  const TraceablePrediction<double> traced = Toy(kInputs);
  const auto error = [&](size_t outputs, size_t others, int64_t chosen) {
    TraceablePrediction<double> one = traced;
    TraceablePrediction<double> other = traced;
    one.labels.outputs.resize(outputs);
    other.labels.outputs.resize(others);
    return std::string(
        Patch(forward_, one, other, "*", chosen).status().message());
  };
  EXPECT_EQ(error(3, 1, 0), "");
  EXPECT_EQ(error(0, 3, kAllOutputs),
            "this input has no output that a patch could change; use another "
            "input");
  const std::string other =
      "the other input does not have the chosen output; choose an output that "
      "both inputs have";
  EXPECT_EQ(error(3, 0, kAllOutputs), other);
  EXPECT_EQ(error(3, 2, 2), other);
}

TEST_F(PatchTest, RequiresTheSameShape) {
  const TraceablePrediction<double> traced = Toy(kInputs);
  EXPECT_THAT(
      Patch(forward_, traced, traced, "*/residaul", 0).status().message(),
      HasSubstr("no hook point (site) of this model matches '*/residaul'; the "
                "nearest is"));
  std::vector<double> longer = kInputs;
  longer.insert(longer.end(), {1, 1});
  EXPECT_EQ(
      Patch(forward_, traced, Toy(longer), "*embedded", 0).status().message(),
      "'decoder/embedded' is [1, 3, 2]; for the other input it is [1, 4, 2]: "
      "both inputs must have the same length");
  // The residuals of both inputs have equal shapes and can be patched. The
  // inputs have different lengths, so other_value must be NaN.
  const auto patched = Patch(forward_, traced, Toy(longer), "*/residual", 0);
  ASSERT_THAT(patched.status(), testing::IsOk());
  EXPECT_TRUE(std::isnan(patched->other_value));
}

}  // namespace
}  // namespace regard
