#include "experiments/tasks/translation/inspection.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
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

// The maps of the section's one inspection.
std::vector<LabelledMatrix> MapsIn(const Inspection& inspection) {
  return std::get<Maps>(AttentionSection({inspection}).blocks.at(4)).maps;
}

TEST(AttentionSectionTest, FoldsAllTablesAwayButTheFirst) {
  const Inspection one = TwoSteps({}, {});
  const Section section = AttentionSection({one, one});
  EXPECT_EQ(section.title, "Attention");
  ASSERT_EQ(section.blocks.size(), 10u);
  EXPECT_TRUE(std::holds_alternative<AttentionCaution>(section.blocks[0]));
  EXPECT_EQ(std::get<Heading>(section.blocks[2]).text, "a <eos> → b <eos>");
  EXPECT_EQ(std::get<std::string>(section.blocks[3]),
            "Log probability of the whole -2.000; mean entropy of a step 0.000 "
            "nats; no gold alignment is known for this pair.");
  EXPECT_TRUE(std::get<Folded>(section.blocks[5]).open);
  EXPECT_FALSE(std::get<Folded>(section.blocks[9]).open);
}

TEST(AttentionSectionTest, ATransformersLayersAreMapsOfTheirHeads) {
  const std::vector<LabelledMatrix> maps = MapsIn(TwoSteps(
      {Over(false, "0.self", 0, {1}), Over(true, "0.cross", 0, {1, 2}),
       Over(true, "0.cross", 1, {3, 4}), Over(false, "1.self", 0, {1}),
       Over(true, "1.cross", 0, {5, 6}), Over(true, "1.cross", 1, {7, 8})},
      {Over(false, "0.self", 0, {1, 2}), Over(true, "0.cross", 0, {11, 12}),
       Over(true, "0.cross", 1, {13, 14}), Over(false, "1.self", 0, {1, 2}),
       Over(true, "1.cross", 0, {15, 16}),
       Over(true, "1.cross", 1, {17, 18})}));
  ASSERT_EQ(maps.size(), 4u);
  const LabelledMatrix& first = maps[0];
  EXPECT_EQ(first.title, "weights of each step, 0.cross");
  EXPECT_THAT(first.rows, ElementsAre("b", "<eos>"));
  EXPECT_THAT(first.columns, ElementsAre("a", "<eos>"));
  EXPECT_THAT(first.heads, ElementsAre(ElementsAre(1, 2, 11, 12),
                                       ElementsAre(3, 4, 13, 14)));
  ASSERT_EQ(first.gold.size(), 1u);
  EXPECT_THAT(maps[1].heads[1], ElementsAre(-3, -4, -13, -14));
  EXPECT_EQ(maps[2].title, "weights of each step, 1.cross");
  EXPECT_THAT(maps[2].heads[1], ElementsAre(7, 8, 17, 18));
  EXPECT_EQ(maps[3].title, "gradient of each word's log p by them, 1.cross");
}

TEST(AttentionSectionTest, OneAttentionNeedsNoName) {
  const std::vector<LabelledMatrix> maps =
      MapsIn(TwoSteps({Over(true, "attention", 0, {1, 0})},
                      {Over(true, "attention", 0, {0, 1})}));
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].title, "weights of each step");
  EXPECT_EQ(maps[1].title, "gradient of each word's log p by them");
}

TEST(AttentionSectionTest, ThereMayBeNoGradientsAndNoMaps) {
  InspectedMap map = Over(true, "attention", 0, {1, 0});
  map.gradients.clear();
  EXPECT_EQ(MapsIn(TwoSteps({map}, {map})).size(), 1u);
  EXPECT_THAT(MapsIn(TwoSteps({}, {})), IsEmpty());
}

}  // namespace
}  // namespace regard
