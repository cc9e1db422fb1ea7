// Tests the statistics that a config requests.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/parameters.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/interventions/requests_in_text.h"

namespace regard {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::Pair;

// Returns the statistics of an optimizer step with one shard for each element
// of `parts`.
std::vector<std::pair<std::string, double>> Report(
    const SiteRequestsBuilder& requests, int64_t step,
    const std::vector<std::vector<double>>& parts,
    const char* name = "weights") {
  ParameterStore<float> store;
  store.Finalize(0);
  AccumulatedStatistics sums;
  for (const std::vector<double>& part : parts) {
    Tape<float> tape;
    Forward<float> forward(tape, store, nullptr);
    ConfiguredHook<float> hook(requests, 0);
    forward.set_hook(hook.BeginUpdate(step));
    for (int64_t t = 0; t < 2; ++t) {
      const NameScope<float> outer(tape, "step", t);
      const NameScope<float> scope(tape, "decoder");
      const std::vector<float> values(part.begin(), part.end());
      forward.Site(
          name,
          tape.Constant({static_cast<int64_t>(part.size()) / 2, 2}, values));
    }
    hook.TakeStatistics(&sums);
    hook.TakeStatistics(&sums);
  }
  std::vector<std::pair<std::string, double>> report;
  for (const auto& [site, sum] : sums) report.emplace_back(site, sum.Value());
  return report;
}

TEST(SiteStatistic, IsReducedOverShardsAndTheStepsOfADecoder) {
  SiteRequestsBuilder requests;
  for (const char* statistic : {"ENTROPY", "NORM", "MAX", "TOP_KEY_SHARE",
                                "FIRST_KEY_SHARE", "WINDOW_SHARE window: 1"}) {
    requests.Probe("site: 'step[*]/decoder/weights' every: 3 statistic: " +
                   std::string(statistic));
  }
  // State mixers have weights of either sign. A row whose sum is 0 must not
  // count as masked.
  const std::vector<std::vector<double>> shards = {{-.5, .5, 1, 0},
                                                   {-.75, .25, 0, 0}};
  EXPECT_THAT(Report(requests, 0, shards), IsEmpty());
  EXPECT_THAT(Report(requests, 3, shards), IsEmpty());
  const double of_quarter = -.75 * std::log(.75) - .25 * std::log(.25);
  const std::string site = "probe/step[*]/decoder/weights/";
  EXPECT_THAT(
      Report(requests, 2, shards),
      ElementsAre(
          Pair(site + "entropy", DoubleEq((std::log(2.0) + of_quarter) / 3)),
          Pair(site + "first_key_share", DoubleEq((.5 + 1 + .75) / 3)),
          Pair(site + "max", 1),
          Pair(site + "norm",
               DoubleEq((std::sqrt(.5) + 1 + std::sqrt(.625)) / 4)),
          Pair(site + "top_key_share", DoubleEq((.5 + 1 + .75) / 3)),
          Pair(site + "window_share_1", DoubleEq((.5 + 0 + .75) / 3))));
}

// All statistics except NORM must request row statistics instead of the
// weights.
TEST(SiteStatistic, WeightsNeedOnlyTheirRows) {
  SiteRequestsBuilder requests;
  for (const char* statistic :
       {"ENTROPY", "MAX", "TOP_KEY_SHARE", "FIRST_KEY_SHARE",
        "WINDOW_SHARE window: 2", "WINDOW_SHARE window: 3"}) {
    requests.Probe("site: '*' every: 1 statistic: " + std::string(statistic));
  }
  ConfiguredHook<double> hook(requests, 5);
  hook.BeginUpdate(0);
  const HookRequest request = hook.Request("attention/weights");
  EXPECT_FALSE(request.any());
  EXPECT_TRUE(request.rows.entropy && request.rows.top && request.rows.first);
  EXPECT_THAT(request.rows.windows, ElementsAre(2, 3));
  EXPECT_TRUE(hook.Request("attention/context").value);
  EXPECT_FALSE(hook.Request("attention/context").rows.any());
  SiteRequestsBuilder norm =
      SiteRequestsBuilder().Probe("site: '*' every: 1 statistic: NORM");
  ConfiguredHook<double> of_norm(norm, 5);
  of_norm.BeginUpdate(0);
  EXPECT_TRUE(of_norm.Request("attention/weights").value);
  // Evaluations must not measure statistics.
  hook.BeginEvaluation(0);
  EXPECT_FALSE(hook.Request("attention/weights").rows.any());
}

TEST(SiteStatistic, IsNamedByTheStepThatItsPatternChooses) {
  SiteRequestsBuilder requests =
      SiteRequestsBuilder().Probe("site: 'step[1]/*' every: 1 statistic: MAX");
  requests.Probe("site: '*/state' every: 1 statistic: MAX");
  EXPECT_THAT(Report(requests, 0, {{1, 2}}, "state"),
              ElementsAre(Pair("probe/step[*]/decoder/state/max", 2),
                          Pair("probe/step[1]/decoder/state/max", 2)));
}

TEST(SiteStatistic, TheLargestElementIsNanIfAnyIsNan) {
  const SiteRequestsBuilder requests =
      SiteRequestsBuilder().Probe("site: '*' every: 1 statistic: MAX");
  const double nan = std::nan("");
  for (const std::vector<std::vector<double>>& shards :
       {std::vector<std::vector<double>>{{1, nan}, {3, 2}},
        {{3, 2}, {nan, 1}}}) {
    EXPECT_THAT(Report(requests, 0, shards, "state"),
                ElementsAre(Pair("probe/step[*]/decoder/state/max", IsNan())));
  }
}

TEST(SiteStatistic, SeesTheResultOfAnIntervention) {
  SiteRequestsBuilder requests =
      SiteRequestsBuilder().Intervene("site: '*' replace { scale: -2 }");
  requests.Probe("site: '*' every: 1 statistic: MAX");
  EXPECT_THAT(Report(requests, 0, {{-1, -3}}, "state"),
              ElementsAre(Pair("probe/step[*]/decoder/state/max", 6)));
}

}  // namespace
}  // namespace regard
