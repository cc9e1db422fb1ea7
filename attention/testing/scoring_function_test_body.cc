#include "attention/testing/scoring_function_test_body.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "attention/attention.pb.h"
#include "attention/checks/expectations.h"
#include "attention/checks/scoring_problem.h"
#include "attention/testing/case_name.h"
#include "google/protobuf/text_format.h"

namespace regard {

std::string ScoringFunctionTest::Name(
    const ::testing::TestParamInfo<ParamType>& info) {
  const auto& [tested, check] = info.param;
  return absl::StrCat(check.name, "_", CaseName(tested.options));
}

TEST_P(ScoringFunctionTest, Holds) {
  const auto& [tested, check] = GetParam();
  AttentionRegistry registry;
  tested.register_score(registry);
  ASSERT_EQ(registry.plugins().size(), 1u);
  const ScorerInfo& info = registry.plugins()[0];
  const std::unique_ptr<google::protobuf::Message> options(
      info.default_options->New());
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(tested.options,
                                                            options.get()))
      << "test_options: " << tested.options;
  const std::optional<ScoreWidths> widths = TestWidths(info, *options);
  ASSERT_TRUE(widths.has_value()) << "invalid test_options: " << tested.options;
  Expectations expect;
  check.run({registry, info, *options, *widths}, expect);
  for (const std::string& failure : expect.failures()) {
    ADD_FAILURE() << failure << "\nwith the options {" << tested.options << "}";
  }
  if (!expect.skipped().empty()) GTEST_SKIP() << expect.skipped();
  if (check.name != std::string("AcceptsItsLongestDistance")) return;
  // Regard rejects greater distances before training, so the score must
  // CHECK-fail.
  ScorerUnderTest<double> scorer(registry, *options, *widths);
  ScoringProblem problem = ScoringProblem::Random(1, 1, 1, *widths);
  problem.positions.first_key = scorer.scorer().MaxDistance() + 1;
  EXPECT_DEATH(scorer.Compute(problem), "");
}

}  // namespace regard
