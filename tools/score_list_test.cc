#include "tools/score_list.h"

#include <string>

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

TEST(ScoreListTest, HasALineForEachOtherPlugin) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  const ScoreWidths widths = {.heads = 2, .query = 3, .key = 3};
  const std::string list = ListScores(scorers, widths);
  EXPECT_THAT(list,
              HasSubstr("\nNormalizers: attention { normalizer { .. } }\n\n"
                        "  softmax           exp(s_i) / sum_j exp(s_j)\n"
                        "  sparsemax         max(s_i - tau, 0)\n"));
  EXPECT_THAT(list, HasSubstr("\n  alibi             score - slope"));
  EXPECT_THAT(list, HasSubstr("\n  talking_heads     sum_j W_ij s_j"));
  EXPECT_THAT(
      list,
      HasSubstr("\nKey selections: attention { selection { .. } }\n\n"
                "  moba              top_k blocks of keys by q . mean(k)\n"));
  EXPECT_THAT(list, HasSubstr("\n  gate              "));
  EXPECT_THAT(list, HasSubstr("\n  retention         "));
  const nlohmann::ordered_json json = ScoresJson(scorers, widths);
  EXPECT_EQ(json["score_maps"][1]["name"], "top_k");
  EXPECT_EQ(json["score_maps"][1]["options"][0]["name"], "keys");
  EXPECT_EQ(json["mixers"].size(), scorers.mixers.plugins().size());
  EXPECT_EQ(json["key_selections"][0]["name"], "moba");
  EXPECT_EQ(json["key_selections"][0]["options"][1]["default"], "3");
  // Normalizers must keep the order of the members, rather than be sorted by
  // type name.
  EXPECT_EQ(json["normalizers"][2]["name"], "entmax15");
}

TEST(ScoreListTest, ListsPartsThatAreSingleFields) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  const ScoreWidths widths = {.heads = 2, .query = 3, .key = 3};
  EXPECT_THAT(ListScores(scorers, widths),
              HasSubstr("\nOther parts:\n\n"
                        "  attention { sink {} }   exp(s_i) / (exp(z) + "));
  const nlohmann::ordered_json parts = ScoresJson(scorers, widths)["parts"];
  ASSERT_EQ(parts.size(), 4);
  EXPECT_EQ(parts[1]["options"][0]["name"], "bias");
  EXPECT_EQ(parts[3]["place"], "latent {}");
}

TEST(ScoreListTest, ReportsWidthsThatAScoreRejects) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  EXPECT_THAT(
      ListScores(scorers, {.heads = 1, .query = 2, .key = 3}),
      HasSubstr("\ndot\n    q . k\n    this score requires a query and a key "
                "of the same width; the query has 2, the key 3\n"));
}

}  // namespace
}  // namespace regard
