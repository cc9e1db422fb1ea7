#include "experiments/tasks/translation/inspection.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/attention_inspection.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

InspectedMap Over(bool memory, const char* name, int64_t head,
                  std::vector<double> weights) {
  std::vector<double> gradients;
  for (const double weight : weights) gradients.push_back(-weight);
  return {.name = name,
          .head = head,
          .over_memory = memory,
          .weights = std::move(weights),
          .gradients = std::move(gradients)};
}

Inspection TwoSteps(std::vector<InspectedMap> first,
                    std::vector<InspectedMap> second) {
  Inspection inspection;
  inspection.source = {"a", "<eos>"};
  inspection.target = {"b", "<eos>"};
  inspection.gold = {{.target = 0, .source = 0}};
  for (std::vector<InspectedMap>* maps : {&first, &second}) {
    inspection.steps.push_back(
        {.maps = *maps, .alignment = {1, 0}, .log_probability = -1});
  }
  return inspection;
}

TEST(ExplanationOfTest, ATransformersLayersAreMapsOfTheirHeads) {
  const Explanation explanation = ExplanationOf(TwoSteps(
      {Over(false, "0.self", 0, {1}), Over(true, "0.cross", 0, {1, 2}),
       Over(true, "0.cross", 1, {3, 4}), Over(false, "1.self", 0, {1}),
       Over(true, "1.cross", 0, {5, 6}), Over(true, "1.cross", 1, {7, 8})},
      {Over(false, "0.self", 0, {1, 2}), Over(true, "0.cross", 0, {11, 12}),
       Over(true, "0.cross", 1, {13, 14}), Over(false, "1.self", 0, {1, 2}),
       Over(true, "1.cross", 0, {15, 16}),
       Over(true, "1.cross", 1, {17, 18})}));
  ASSERT_EQ(explanation.maps.size(), 4u);
  const LabelledMatrix& first = explanation.maps[0];
  EXPECT_EQ(first.title, "weights of each step, 0.cross");
  EXPECT_THAT(first.rows, ElementsAre("b", "<eos>"));
  EXPECT_THAT(first.columns, ElementsAre("a", "<eos>"));
  EXPECT_THAT(first.heads, ElementsAre(ElementsAre(1, 2, 11, 12),
                                       ElementsAre(3, 4, 13, 14)));
  ASSERT_EQ(first.gold.size(), 1u);
  EXPECT_THAT(explanation.maps[1].heads[1], ElementsAre(-3, -4, -13, -14));
  EXPECT_EQ(explanation.maps[2].title, "weights of each step, 1.cross");
  EXPECT_THAT(explanation.maps[2].heads[1], ElementsAre(7, 8, 17, 18));
  EXPECT_EQ(explanation.maps[3].title,
            "gradient of each word's log p by them, 1.cross");
}

TEST(ExplanationOfTest, OneAttentionNeedsNoName) {
  const Explanation explanation =
      ExplanationOf(TwoSteps({Over(true, "attention", 0, {1, 0})},
                             {Over(true, "attention", 0, {0, 1})}));
  ASSERT_EQ(explanation.maps.size(), 2u);
  EXPECT_EQ(explanation.maps[0].title, "weights of each step");
  EXPECT_EQ(explanation.maps[1].title, "gradient of each word's log p by them");
}

TEST(ExplanationOfTest, ThereMayBeNoGradientsAndNoMaps) {
  InspectedMap map = Over(true, "attention", 0, {1, 0});
  map.gradients.clear();
  EXPECT_EQ(ExplanationOf(TwoSteps({map}, {map})).maps.size(), 1u);
  EXPECT_THAT(ExplanationOf(TwoSteps({}, {})).maps, IsEmpty());
}

}  // namespace
}  // namespace regard
