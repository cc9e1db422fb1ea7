#include "optimization/interventions/configured_hook.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/interventions/intervention.pb.h"
#include "optimization/interventions/requests_in_text.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::Pointwise;

// Two examples, two heads and two queries over three keys. The last key is
// masked in every first query. In the second head of the second example, all
// keys are masked.
const std::vector<double> kWeights = {
    .25, .75, 0, .5, .25, .25, 1, 0, 0, .125, .5, .375,  //
    .5,  .5,  0, 0,  .5,  .5,  0, 0, 0, 0,    0,  0};

struct Outcome {
  std::vector<double> value;
  std::vector<double> gradient;  // gradient of the original value
};

// Runs a pass with the hook point "a/layers[1]/NAME". The gradient of its value
// is 1, 2, ...
Outcome RunPass(const SiteRequestsBuilder& requests, int64_t step = 0,
                const char* name = "weights",
                const std::vector<int64_t>& examples = {7, 9},
                const Shape& shape = {2, 2, 2, 3},
                const std::vector<double>& values = kWeights) {
  ParameterStore<double> store;
  store.Finalize(0);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  ConfiguredHook<double> hook(requests, /*seed=*/5);
  forward.set_hook(hook.BeginUpdate(step));
  tape.set_random({5, step, examples});
  const NameScope<double> outer(tape, "a");
  const NameScope<double> scope(tape, "layers", 1);
  const Var<double> in = tape.Input(shape, values);
  const Var<double> out = forward.Site(name, in);
  std::vector<double> slopes(values.size());
  for (size_t i = 0; i < slopes.size(); ++i) slopes[i] = i + 1;
  tape.Backward(Sum(out * tape.Constant(shape, slopes)));
  Outcome outcome = {{out.data(), out.data() + out.size()},
                     std::vector<double>(values.size())};
  if (in.grad_data() != nullptr) {
    outcome.gradient.assign(in.grad_data(), in.grad_data() + in.size());
  }
  return outcome;
}

SiteRequestsBuilder Replace(const std::string& how) {
  return SiteRequestsBuilder().Intervene("site: 'a/layers[1]/*' replace { " +
                                         how + " }");
}

TEST(Intervention, ZerosCutValueAndGradient) {
  const Outcome outcome = RunPass(Replace("zeros {}"));
  EXPECT_EQ(outcome.value, std::vector<double>(24, 0));
  EXPECT_EQ(outcome.gradient, std::vector<double>(24, 0));
}

TEST(Intervention, AScaleOfOneHeadDoesNotChangeOtherHeads) {
  const Outcome outcome =
      RunPass(SiteRequestsBuilder().Intervene(
                  "site: '*/context' head: 1 replace { scale: -0.5 }"),
              0, "context");
  const Outcome plain = RunPass(SiteRequestsBuilder(), 0, "context");
  EXPECT_EQ(plain.value, kWeights);
  for (size_t i = 0; i < 24; ++i) {
    const double factor = i / 6 % 2 == 1 ? -0.5 : 1;
    EXPECT_EQ(outcome.value[i], factor * kWeights[i]) << i;
    EXPECT_EQ(outcome.gradient[i], factor * static_cast<double>(i + 1)) << i;
  }
}

TEST(Intervention, AnInputReplacesEarlierInterventions) {
  ParameterStore<double> store;
  store.Finalize(0);
  SiteRequestsBuilder requests =
      SiteRequestsBuilder().Intervene("site: '*residual' replace { scale: 3 }");
  requests.Intervene("site: '*residual' replace { input {} }");
  const auto pass = [&](const SiteRequestsBuilder& asked) {
    Tape<double> tape;
    Forward<double> forward(tape, store, nullptr);
    ConfiguredHook<double> hook(asked, 0);
    forward.set_hook(hook.BeginUpdate(0));
    const Var<double> in = tape.Input({1, 2}, std::vector<double>{1, 2});
    const Var<double> branch = tape.Input({1, 2}, std::vector<double>{5, 7});
    const Var<double> out = forward.Site("residual", in + branch, in);
    tape.Backward(Sum(out));
    EXPECT_EQ(branch.grad_data(), nullptr);
    return std::vector<double>{out.data()[0], out.data()[1], in.grad_data()[0]};
  };
  EXPECT_THAT(pass(requests), ElementsAre(1, 2, 1));
  requests.Intervene("site: '*residual' replace { scale: 2 }");
  EXPECT_THAT(pass(requests), ElementsAre(2, 4, 2));
}

TEST(Intervention, AScaleOfZeroClearsNonFiniteValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const Outcome outcome =
      RunPass(Replace("scale: 0"), 0, "scores", {0}, {1, 2}, {-inf, 1});
  EXPECT_THAT(outcome.value, ElementsAre(0, 0));
}

TEST(Intervention, UniformWeightsKeepSumsAndMasks) {
  const Outcome outcome = RunPass(Replace("uniform {}"));
  const double third = 1.0 / 3;
  const std::vector<double> expected = {
      .5, .5, 0, third, third, third, 1, 0, 0, third, third, third,  //
      .5, .5, 0, 0,     .5,    .5,    0, 0, 0, 0,     0,     0};
  EXPECT_THAT(outcome.value, Pointwise(DoubleEq(), expected));
  EXPECT_EQ(outcome.gradient, std::vector<double>(24, 0));
}

// State mixers have attention maps with negative elements. A negative weight
// must be replaced and moved, unlike a weight of 0.
TEST(Intervention, ReplacesNegativeWeightsButNotZeros) {
  const auto pass = [](const char* how, int64_t step) {
    return RunPass(Replace(how), step, "weights", {0}, {1, 1, 1, 5},
                   {.5, -.25, 0, -1, 0})
        .value;
  };
  EXPECT_THAT(pass("uniform {}", 0), ElementsAre(-.25, -.25, 0, -.25, 0));
  std::set<std::vector<double>> orders;
  for (int64_t step = 0; step < 40; ++step) {
    const std::vector<double> value = pass("permuted {}", step);
    EXPECT_EQ(value[2], 0);
    EXPECT_EQ(value[4], 0);
    orders.insert(value);
  }
  EXPECT_EQ(orders.size(), 6);
}

std::vector<double> Sorted(const std::vector<double>& values, size_t row) {
  std::vector<double> sorted(values.begin() + 3 * row,
                             values.begin() + 3 * row + 3);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(Intervention, PermutedWeightsMoveAmongTheKeysOfTheirRow) {
  bool moved = false;
  for (int64_t step = 0; step < 8; ++step) {
    const Outcome outcome = RunPass(Replace("permuted {}"), step);
    moved |= outcome.value != RunPass(Replace("permuted {}"), step + 1).value;
    for (size_t row = 0; row < 8; ++row) {
      EXPECT_EQ(Sorted(outcome.value, row), Sorted(kWeights, row)) << row;
    }
    for (size_t i = 0; i < 24; ++i) {
      EXPECT_EQ(outcome.value[i] == 0, kWeights[i] == 0) << i;
    }
    EXPECT_EQ(outcome.gradient, std::vector<double>(24, 0));
  }
  EXPECT_TRUE(moved);
}

// The weights of an example must get the same order in another shard, and with
// more padding.
TEST(Intervention, AnOrderDependsOnTheExampleAndNotOnTheBatch) {
  for (int64_t step = 0; step < 8; ++step) {
    const std::vector<double> both =
        RunPass(Replace("permuted {}"), step).value;
    std::vector<double> padded;
    for (size_t row = 0; row < 4; ++row) {
      padded.insert(padded.end(), kWeights.begin() + 3 * row,
                    kWeights.begin() + 3 * row + 3);
      padded.push_back(0);
      if (row % 2 == 1) padded.insert(padded.end(), {1, 0, 0, 0});
    }
    const std::vector<double> alone =
        RunPass(Replace("permuted {}"), step, "weights", {7}, {1, 2, 3, 4},
                padded)
            .value;
    for (size_t row = 0; row < 4; ++row) {
      for (size_t key = 0; key < 3; ++key) {
        EXPECT_EQ(alone[(row + row / 2) * 4 + key], both[row * 3 + key]);
      }
    }
  }
}

TEST(Intervention, AMeanIsTakenForEachHeadAndColumnOverAllPasses) {
  const SiteRequestsBuilder requests =
      SiteRequestsBuilder()
          .Intervene("site: '*/context' head: 1 replace { mean {} }")
          .Intervene("site: '*/context' head: 0 replace { scale: 2 }");
  ParameterStore<double> store;
  store.Finalize(0);
  ConfiguredHook<double> hook(requests, 0);
  // Runs a pass. Each pass has a different number of examples and positions,
  // and a different step of a decoder.
  const auto pass = [&](const Shape& shape, const std::vector<double>& values) {
    Tape<double> tape;
    Forward<double> forward(tape, store, nullptr);
    forward.set_hook(hook.BeginEvaluation(0));
    const NameScope<double> scope(tape, "decoder");
    const NameScope<double> step(tape, "step", shape[0]);
    const Var<double> out =
        forward.Site("context", tape.Constant(shape, values));
    return std::vector<double>(out.data(), out.data() + out.size());
  };
  const std::vector<double> two = {0, 1, 10, 20, 2, 3, 30, 40};
  const std::vector<double> one = {4, 5, 7, 7, 50, 0, 70, 20};
  hook.SetMeanCollectionMode(true);
  EXPECT_EQ(pass({2, 2, 1, 2}, two), two);
  EXPECT_EQ(pass({1, 2, 2, 2}, one), one);
  hook.SetMeanCollectionMode(false);
  EXPECT_THAT(pass({2, 2, 1, 2}, two), ElementsAre(0, 2, 40, 20, 4, 6, 40, 20));
  EXPECT_THAT(pass({1, 2, 2, 2}, one),
              ElementsAre(8, 10, 14, 14, 40, 20, 40, 20));
}

TEST(Intervention, AppliesWithinARangeOfSteps) {
  const SiteRequestsBuilder requests = SiteRequestsBuilder().Intervene(
      "site: '*' from_step: 2 to_step: 4 replace { zeros {} }");
  for (int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(RunPass(requests, step).value[0],
              step == 2 || step == 3 ? 0 : .25);
    ConfiguredHook<float> hook(requests, 0);
    EXPECT_EQ(hook.BeginEvaluation(step) != nullptr, step == 2 || step == 3);
  }
}

TEST(Intervention, AppliesAfterEarlierInterventions) {
  SiteRequestsBuilder requests = Replace("scale: 2");
  requests.Intervene("site: '*' head: 0 replace { scale: 3 }");
  const std::vector<double> value = RunPass(requests).value;
  EXPECT_EQ(value[0], .25 * 6);
  EXPECT_EQ(value[6], 2);
}

std::string Problems(const ConfigProblems& problems) {
  std::string text;
  for (const auto& problem : problems.problems()) {
    text += problem.path + ": " + problem.message + "\n";
  }
  return text;
}

TEST(SiteRequestsView, ProblemsAreLocated) {
  ConfigProblems problems;
  SiteRequestsBuilder requests = SiteRequestsBuilder().Intervene("head: -1");
  requests.Intervene("site: '*' replace { scale: 1e9 } from_step: 4 to_step: 4")
      .Probe("site: '' every: 0")
      .Probe("site: '*' statistic: MAX")
      .Probe("site: '*' statistic: WINDOW_SHARE")
      .Probe("site: '*' statistic: WINDOW_SHARE window: -1")
      .Probe("site: '*' statistic: WINDOW_SHARE window: 8");
  ValidateSiteRequests(requests, problems);
  EXPECT_EQ(
      Problems(problems),
      "intervene[0].site: must be set to a pattern of hook points (sites)\n"
      "intervene[0].head: must be in [0, 1000], got -1\n"
      "intervene[0].replace: must set exactly one of zeros {}, uniform {}, "
      "permuted {}, mean {}, input {} or scale: NUMBER\n"
      "intervene[1].replace.scale: must be in [-1000000, 1000000], got "
      "1000000000\n"
      "intervene[1].to_step: must be greater than `from_step` (4)\n"
      "probe[0].site: must be set to a pattern of hook points (sites)\n"
      "probe[0].every: must be in [1, 1000000000000], got 0\n"
      "probe[0].statistic: must be set to ENTROPY, NORM, MAX, TOP_KEY_SHARE, "
      "FIRST_KEY_SHARE or WINDOW_SHARE\n"
      "probe[2].window: must be set to the number of keys of WINDOW_SHARE, "
      "such as 64\n"
      "probe[3].window: must be in [0, 1000000000], got -1\n");
}

TEST(SiteRequestsView, AWindowThatNothingReadsIsANote) {
  ConfigProblems problems;
  const SiteRequestsBuilder requests =
      SiteRequestsBuilder().Probe("site: '*' statistic: ENTROPY window: 8");
  ValidateSiteRequests(requests, problems);
  EXPECT_EQ(Problems(problems), "");
  EXPECT_THAT(problems.notes(),
              ElementsAre(HasSubstr("probe[0].window: has no effect")));
}

class SmallModel : public Model<float> {
 public:
  SmallModel() { store_.Finalize(0); }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return 5; }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override {
    const auto batch = static_cast<int64_t>(examples.size());
    Tape<float>& tape = forward.tape();
    EXPECT_TRUE(tape.training());
    EXPECT_EQ(tape.random().examples, examples);
    EXPECT_EQ(tape.random().step, 0);
    EXPECT_EQ(denominators[0], static_cast<double>(batch));
    const NameScope<float> scope(tape, "decoder");
    sums[0] = Sum(forward.Site("weights", tape.Full({batch, 3, 2, 2}, .5f))) +
              Sum(forward.Site("residual", tape.Full({batch, 2}, 1)));
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  ParameterStore<float> store_;
};

TEST(SiteRequestsView, HookPointsAreFoundWithTwoExamples) {
  SmallModel model;
  const SiteShapes sites = RecordSiteShapes(model, 0, {"*weights"});
  EXPECT_THAT(sites, ElementsAre(Pair("decoder/residual", Shape()),
                                 Pair("decoder/weights", Shape({2, 3, 2, 2}))));
}

TEST(SiteRequestsView, MissingHookPointsAreProblems) {
  SmallModel model;
  ConfigProblems problems;
  SiteRequestsBuilder requests = SiteRequestsBuilder().Intervene(
      "site: '*/weights' head: 2 replace { permuted {} }");
  requests.Probe("site: '*/weights' statistic: ENTROPY")
      .Probe("site: '*' statistic: MAX");
  ValidateSites(requests, 0, model, problems);
  EXPECT_EQ(Problems(problems), "");
  requests.Intervene("site: 'decoder/weihgts' replace { zeros {} }")
      .Intervene("site: '*/residaul' replace { zeros {} }")
      .Intervene("site: '*' replace { uniform {} }")
      .Intervene("site: '*/weights' head: 3 replace { zeros {} }")
      .Intervene("site: '*' head: 0 replace { zeros {} }")
      .Intervene("site: '*/residual' replace { mean {} }")
      .Intervene("site: '*' replace { mean {} }")
      .Intervene("site: '*/residual' replace { input {} }")
      .Intervene("site: '*' replace { input {} }")
      .Probe("site: '*/residual' statistic: TOP_KEY_SHARE");
  ValidateSites(requests, 0, model, problems);
  EXPECT_EQ(
      Problems(problems),
      "intervene[1].site: no hook point (site) of this model matches "
      "'decoder/weihgts'; the nearest is 'decoder/weights'\n"
      "intervene[2].site: no hook point (site) of this model matches "
      "'*/residaul'; the nearest is 'decoder/residual'\n"
      "intervene[3].replace: 'decoder/residual' is not a hook point of "
      "attention weights; uniform and permuted require one\n"
      "intervene[4].head: 'decoder/weights' has 3 heads; `head` must be less "
      "than 3, got 3\n"
      "intervene[5].head: 'decoder/residual' has no heads; remove `head`\n"
      "intervene[7].replace: 'decoder/weights' cannot be replaced by a mean: "
      "its keys differ between examples\n"
      "intervene[9].replace: 'decoder/weights' is not a `residual` hook point; "
      "`input` requires one\n"
      "probe[2].statistic: 'decoder/residual' is not a hook point of attention "
      "weights; TOP_KEY_SHARE requires one\n");
}

// A model with one hook point, whose value is the number of the example.
class CountingModel : public SmallModel {
 public:
  explicit CountingModel(int64_t size) : size_(size) {}

  int64_t num_examples() const override { return size_; }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override {
    EXPECT_EQ(examples.size(), 1);
    EXPECT_EQ(forward.tape().random().examples, examples);
    EXPECT_EQ(forward.tape().random().step, 0);
    EXPECT_EQ(denominators[0], 1);
    sums[0] = forward.Site(
        "state", forward.tape().Full({1}, static_cast<float>(examples[0])));
  }

 private:
  const int64_t size_;
};

TEST(CollectSiteMeans, ReadsExamplesThatAreSpreadEvenly) {
  const SiteRequestsBuilder requests =
      SiteRequestsBuilder().Intervene("site: 'state' replace { mean {} }");
  const auto mean = [&](int64_t size) {
    CountingModel model(size);
    ConfiguredHook<float> hook(requests, 0);
    Tape<float> tape;
    Forward<float> forward(tape, model.parameters(), nullptr);
    forward.set_hook(hook.BeginEvaluation(0));
    CollectSiteMeans(0, model, forward, hook);
    EXPECT_TRUE(tape.random().examples.empty());
    return forward.Site("state", tape.Full({1}, -1)).data()[0];
  };
  EXPECT_EQ(mean(1), 0);
  EXPECT_EQ(mean(4), 1.5);
  EXPECT_EQ(mean(1000), 499.5);
  EXPECT_EQ(mean(2500), 1248.5);  // reads examples 0, 2, 5, 7, 10, ..
}

}  // namespace
}  // namespace regard
