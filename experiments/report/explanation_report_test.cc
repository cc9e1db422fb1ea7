#include "experiments/report/explanation_report.h"

#include <string>

#include "attention/inspection/explanation.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

// Returns an explanation with two sources, biases, and terms from 0.25 to 2.25.
ScoreExplanation Explanation() {
  ScoreExplanation explanation = {
      .site = "decoder/layers[1]/self/attention/weights",
      .head = 1,
      .query = 4,
      .key = 2,
      .query_label = "a\n",
      .key_label = "b",
      .weight = .75,
      .score = 11.25,
      .sources = {{{{"decoder/token_embedding"}}, .75, 3},
                  {{{"decoder/layers[0]/self/attention/context", 1}}, -1, 3.75},
                  {{}, 6, -1}},
      .total = 11.25};
  for (int i = 1; i <= 9; ++i) explanation.terms.push_back(.25 * i);
  return explanation;
}

TEST(ExplanationTextTest, ShowsTheLargestFirst) {
  EXPECT_EQ(ExplanationText(Explanation()),
            R"(decoder/layers[1]/self/attention/weights, head 1
query 4 'a ', key 2 'b': weight 0.7500, score 11.2500

source                          as query  as key
biases                          6.0000    -1.0000
decoder/layers[0]/self, head 1  -1.0000   3.7500
decoder/token_embedding         0.7500    3.0000

query reads                     key reads                       term
biases                          biases                          2.2500
biases                          decoder/layers[0]/self, head 1  2.0000
biases                          decoder/token_embedding         1.7500
decoder/layers[0]/self, head 1  biases                          1.5000
decoder/layers[0]/self, head 1  decoder/layers[0]/self, head 1  1.2500
decoder/layers[0]/self, head 1  decoder/token_embedding         1.0000
decoder/token_embedding         biases                          0.7500
decoder/token_embedding         decoder/layers[0]/self, head 1  0.5000
decoder/token_embedding         decoder/token_embedding         0.2500
total                                                           11.2500
)");
}

TEST(ExplanationTextTest, SumsAllTermsAfterTen) {
  ScoreExplanation explanation = Explanation();
  explanation.sources.insert(
      explanation.sources.begin(),
      {{{"decoder/layers[0]/feed_forward/feed_forward"}}, 1, 1});
  explanation.terms.clear();
  for (int i = 1; i <= 16; ++i) explanation.terms.push_back(-i);
  explanation.distance_bias = -.5;
  explanation.forgetting = -.25;
  const std::string text = ExplanationText(explanation);
  EXPECT_TRUE(text.ends_with(R"(
decoder/token_embedding         decoder/layers[0]/self, head 1  -7.0000
6 other terms                                                   -21.0000
bias of the distance                                            -0.5000
forget gate                                                     -0.2500
total                                                           11.2500
)")) << text;
}

TEST(ExplanationJsonTest, HasEveryTerm) {
  EXPECT_EQ(
      ExplanationJson(Explanation()).dump(),
      R"({"site":"decoder/layers[1]/self/attention/weights","head":1,"query":4,)"
      R"("key":2,"query_label":"a\n","key_label":"b","weight":0.75,)"
      R"("score":11.25,"total":11.25,"distance_bias":0.0,"forgetting":0.0,)"
      R"("sources":[{"name":"decoder/token_embedding",)"
      R"("site":"decoder/token_embedding","as_query":0.75,"as_key":3.0},)"
      R"({"name":"decoder/layers[0]/self, head 1",)"
      R"("site":"decoder/layers[0]/self/attention/context","head":1,)"
      R"("as_query":-1.0,"as_key":3.75},)"
      R"({"name":"biases","as_query":6.0,"as_key":-1.0}],)"
      R"("terms":[[0.25,0.5,0.75],[1.0,1.25,1.5],[1.75,2.0,2.25]]})");
}

}  // namespace
}  // namespace regard
