#include "experiments/ablation/expectations.h"

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "experiments/ablation/claims.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/run/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::HasSubstr;

TEST(MetricBound, HoldsAsItsRelationSays) {
  EXPECT_TRUE(ParseBound("m <= 2")->Holds(2));
  EXPECT_FALSE(ParseBound("m < 2")->Holds(2));
  EXPECT_TRUE(ParseBound("m < 2")->Holds(1.5));
  EXPECT_TRUE(ParseBound("m >= 2")->Holds(2));
  EXPECT_FALSE(ParseBound("m > 2")->Holds(2));
  EXPECT_TRUE(ParseBound("m == -1e-3")->Holds(-0.001));
  EXPECT_FALSE(ParseBound("m == 1")->Holds(2));
}

TEST(MetricBound, NeverHoldsForNan) {
  for (const char* bound : {"m < 2", "m >= 2", "m == 2"}) {
    EXPECT_FALSE(ParseBound(bound)->Holds(NAN)) << bound;
  }
}

TEST(ParseBound, RejectsInvalidBounds) {
  for (const char* text : {"", "m", "m <", "m =< 2", "m < high", "m < 2 3"}) {
    EXPECT_THAT(ParseBound(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("is not a bound")))
        << text;
  }
}

Claims ParseClaims(const std::string& text) {
  Claims claims;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &claims));
  return claims;
}

RunStatus Finished(double bleu) {
  return {.state = RunState::kFinished, .metrics = {{"dev/bleu", bleu}}};
}

// Returns Regard's number and the verdict for one claim about dev/bleu of
// //configs:a.
std::pair<std::string, std::string> Judge(
    const std::string& expectation,
    const std::map<std::string, RunStatus>& runs) {
  const Table table = ClaimsTable(
      ParseClaims("claims { what: 'w' source: 's' published: '95.4' "
                  "experiment: '//configs:a' metric: 'dev/bleu' " +
                  expectation + " }"),
      runs);
  return {table.rows.at(0).at(4), table.rows.at(0).at(5)};
}

TEST(ClaimsTable, JudgesByItsExpectation) {
  const std::map<std::string, RunStatus> runs = {{"//configs:a", Finished(95)},
                                                 {"//configs:b", Finished(90)}};
  const auto verdict = [&runs](const std::string& expectation) {
    return Judge(expectation, runs).second;
  };
  EXPECT_EQ(verdict("at_least: 95"), "confirmed");
  EXPECT_EQ(verdict("at_least: 95.1"), "not confirmed");
  EXPECT_EQ(verdict("at_most: 95"), "confirmed");
  EXPECT_EQ(verdict("at_most: 94"), "not confirmed");
  EXPECT_EQ(verdict("near { value: 94 tolerance: 1 }"), "confirmed");
  EXPECT_EQ(verdict("near { value: 94 tolerance: 0.5 }"), "not confirmed");
  EXPECT_EQ(verdict("greater_than_experiment: '//configs:b'"),
            "confirmed (the other run: 90)");
  EXPECT_EQ(verdict("less_than_experiment: '//configs:b'"),
            "not confirmed (the other run: 90)");
}

TEST(ClaimsTable, AMissingNumberIsNotANumber) {
  using Result = std::pair<std::string, std::string>;
  EXPECT_EQ(Judge("at_most: 1", {}), Result("-", "not run"));
  EXPECT_EQ(
      Judge("at_most: 1", {{"//configs:a", {.state = RunState::kFailed}}}),
      Result("-", "run failed"));
  EXPECT_EQ(
      Judge("at_most: 1", {{"//configs:a", {.state = RunState::kFinished}}}),
      Result("-", "no such metric"));
  EXPECT_EQ(Judge("at_most: 1", {{"//configs:a", Finished(NAN)}}).second,
            "not confirmed");
  EXPECT_EQ(Judge("less_than_experiment: '//configs:b'",
                  {{"//configs:a", Finished(1)}})
                .second,
            "//configs:b: not run");
  EXPECT_EQ(
      Judge("less_than_experiment: ''", {{"//configs:a", Finished(-1)}}).second,
      ": not run");
}

TEST(ValidateClaims, RequiresSourceExperimentAndExpectation) {
  ConfigProblems problems;
  ValidateClaims(ParseClaims("claims { what: 'w' } claims { what: 'w' near { "
                             "tolerance: 1 } }"),
                 problems);
  std::string all;
  for (const auto& problem : problems.problems()) all += problem.path + ";";
  EXPECT_EQ(all,
            "claims[0].source;claims[0];claims[0];claims[1].source;claims[1];"
            "claims[1].near.value;");
}

}  // namespace
}  // namespace regard
