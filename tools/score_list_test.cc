#include "tools/score_list.h"

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

TEST(ScoreListTest, SaysNameFormulaParametersAndOptions) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  const std::string list =
      ListScores(scorers, {.heads = 2, .query = 3, .key = 3});
  EXPECT_THAT(list, HasSubstr("\nadditive\n"
                              "    w_v . tanh(W_q q + W_k k)\n"
                              "    42 parameters\n"
                              "    width: int32, default 0\n"
                              "    bias: bool, default false\n"));
  EXPECT_THAT(list, HasSubstr("\nlocation_aware\n"));
  EXPECT_THAT(list, HasSubstr("    reads earlier weights"));
  EXPECT_THAT(
      list, HasSubstr("    shape: GAUSSIAN or BOXCAR or TRIANGULAR or CONSTANT "
                      "or EPANECHNIKOV, default GAUSSIAN\n"));
  EXPECT_THAT(list, HasSubstr("    scale.learned: bool, default true\n"));
}

TEST(ScoreListTest, SaysWhichWidthsAScoreRefuses) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  EXPECT_THAT(
      ListScores(scorers, {.heads = 1, .query = 2, .key = 3}),
      HasSubstr("\ndot\n    q . k\n    this score requires a query and a key "
                "of the same width; the query has 2, the key 3\n"));
}

}  // namespace
}  // namespace regard
