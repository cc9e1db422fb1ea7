#include "experiments/report/inspection_report.h"

#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attention/inspection/attention_maps.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/trace.h"
#include "experiments/report/run_results.h"
#include "experiments/report/traced_maps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns a map of two queries and two keys.
AttentionMap<float> Map(bool over_memory, const std::string& name,
                        std::vector<float> weights) {
  AttentionMap<float> map;
  map.site = name + "/attention/weights";
  map.name = name;
  map.over_memory = over_memory;
  map.shape = {1, static_cast<int64_t>(weights.size()) / 4, 2, 2};
  for (const float weight : weights) map.gradients.push_back(-weight);
  map.weights = std::move(weights);
  return map;
}

Inspection<float> TwoSteps(std::vector<AttentionMap<float>> maps) {
  Inspection<float> inspection;
  TraceDescription& labels = inspection.labels;
  labels.sequences = {
      {.name = "source", .labels = {"a", "<eos>"}},
      {.name = "target", .labels = {"<bos>", "b"}, .writes = {"b", "<eos>"}}};
  labels.sites = {{"*", 1, 0}};
  labels.outputs = {{"b", 0}, {"<eos>", 1}};
  labels.successive = true;
  labels.writer = 1;
  labels.alignment = "*/attention/weights";
  labels.gold = {{0, 0}};
  inspection.outputs = {-.5, -1.5};
  inspection.maps = std::move(maps);
  return inspection;
}

// Returns the maps in the section of one inspection.
std::vector<LabelledMatrix> MapsIn(const Inspection<float>& inspection) {
  const Section section = AttentionSection({inspection});
  for (const Block& block : section.blocks) {
    if (const auto* const maps = std::get_if<Maps>(&block); maps != nullptr) {
      return maps->maps;
    }
  }
  return {};
}

TEST(AttentionSectionTest, CollapsesAllTablesExceptTheFirst) {
  const Inspection<float> one =
      TwoSteps({Map(true, "attention", {1, 0, .5, .5})});
  Inspection<float> unknown = one;
  unknown.labels.gold.clear();
  const Section section = AttentionSection({one, unknown});
  EXPECT_EQ(section.title, "Attention");
  ASSERT_EQ(section.blocks.size(), 10u);
  EXPECT_TRUE(std::holds_alternative<AttentionCaution>(section.blocks[0]));
  EXPECT_EQ(std::get<Heading>(section.blocks[2]).text, "a <eos> → b <eos>");
  EXPECT_EQ(std::get<std::string>(section.blocks[3]),
            "log p of the whole -2.000; mean entropy per step 0.347 nats; "
            "alignment error rate 0.000 against 1 gold alignments.");
  EXPECT_THAT(std::get<std::string>(section.blocks[7]),
              HasSubstr("; no gold alignment is known for this pair."));
  EXPECT_TRUE(std::get<CollapsibleBlock>(section.blocks[5]).open);
  EXPECT_FALSE(std::get<CollapsibleBlock>(section.blocks[9]).open);
}

TEST(AttentionSectionTest, ShowsAMapOfHeadsForEachTransformerLayer) {
  const std::vector<LabelledMatrix> maps =
      MapsIn(TwoSteps({Map(false, "0.self", {1, 0, 0, 1}),
                       Map(true, "0.cross", {1, 2, 11, 12, 3, 4, 13, 14}),
                       Map(true, "1.cross", {5, 6, 15, 16, 7, 8, 17, 18})}));
  ASSERT_EQ(maps.size(), 4u);
  const LabelledMatrix& first = maps[0];
  EXPECT_EQ(first.title, "weights of each step, 0.cross/attention/weights");
  EXPECT_THAT(first.rows, ElementsAre("b", "<eos>"));
  EXPECT_THAT(first.columns, ElementsAre("a", "<eos>"));
  EXPECT_THAT(first.heads, ElementsAre(ElementsAre(1, 2, 11, 12),
                                       ElementsAre(3, 4, 13, 14)));
  ASSERT_EQ(first.gold.size(), 1u);
  EXPECT_THAT(maps[1].heads[1], ElementsAre(-3, -4, -13, -14));
  EXPECT_EQ(maps[2].title, "weights of each step, 1.cross/attention/weights");
  EXPECT_THAT(maps[2].heads[1], ElementsAre(7, 8, 17, 18));
  EXPECT_EQ(
      maps[3].title,
      "gradient of each word's log probability, 1.cross/attention/weights");
}

TEST(AttentionSectionTest, WithoutAMemoryShowsSelfAttention) {
  Inspection<float> inspection = TwoSteps({Map(false, "0.self", {1, 0, 0, 1})});
  inspection.labels.successive = false;
  inspection.labels.input = "a";
  inspection.labels.prediction = "good";
  inspection.labels.outputs = {{"good"}, {"bad"}};
  inspection.chosen = 1;
  const std::vector<LabelledMatrix> maps = MapsIn(inspection);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].title, "weights, 0.self/attention/weights");
  EXPECT_THAT(maps[0].gold, IsEmpty());
  EXPECT_EQ(maps[1].title, "gradient, 0.self/attention/weights");
  const Section section = AttentionSection({inspection});
  EXPECT_EQ(std::get<Heading>(section.blocks[2]).text, "a → good");
  EXPECT_EQ(std::get<std::string>(section.blocks[3]), "log p of bad -1.500.");
  EXPECT_THAT(OutputsTable(inspection).header, ElementsAre("output", "log p"));
  EXPECT_THAT(
      OutputsTable(inspection).rows,
      ElementsAre(ElementsAre("good", "-0.500"), ElementsAre("bad", "-1.500")));
}

TEST(AttentionSectionTest, GradientsAndMapsAreOptional) {
  AttentionMap<float> map = Map(true, "attention", {1, 0, 1, 0});
  map.gradients.clear();
  const Inspection<float> without = TwoSteps({map});
  EXPECT_EQ(MapsIn(without).size(), 1u);
  EXPECT_EQ(MapsIn(without)[0].title,
            "weights of each step, attention/attention/weights");
  EXPECT_THAT(OutputsTable(without).rows[0],
              ElementsAre("b", "-0.500", "0.000", "a 1", "", ""));
  EXPECT_THAT(MapsIn(TwoSteps({})), IsEmpty());
  EXPECT_THAT(OutputsTable(TwoSteps({})).header, ElementsAre("word", "log p"));
}

TEST(OutputsTableTest, SumsTheGradientsOfAllMapsLikeTheAlignment) {
  const Table table = OutputsTable(
      TwoSteps({Map(false, "0.self", {9, 9, 9, 9}),
                Map(true, "0.cross", {1, 0, 0, 1, .5, .5, .25, .75})}));
  // The weights are the mean of both heads. All gradients are negative, so no
  // key increases the output.
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("b", "-0.500", "0.562", "a 0.75", "none",
                                      "a -1.5"),
                          ElementsAre("<eos>", "-1.500", "0.377", "<eos> 0.875",
                                      "none", "<eos> -1.75")));
}

// The alignment has two queries and three keys. Gradients of maps with other
// sizes must not be added.
TEST(OutputsTableTest, SumsOnlyGradientsOfMapsOfTheSameSizes) {
  const auto map_of_size = [](int64_t queries, int64_t keys) {
    AttentionMap<float> map = Map(true, "cross", {1, 0, 0, 1});
    map.shape = {1, 1, queries, keys};
    map.weights.assign(static_cast<size_t>(queries * keys), 0.25f);
    map.gradients.assign(map.weights.size(), 1.0f);
    return map;
  };
  const Table table =
      OutputsTable(TwoSteps({map_of_size(3, 3), map_of_size(2, 2),
                             map_of_size(2, 3), map_of_size(2, 3)}));
  EXPECT_EQ(table.rows[1][4], "0 2");
  EXPECT_EQ(table.rows[1][5], "none");  // no gradient is negative
}

TEST(InspectionTextTest, NamesThePatternOfSeveralLayers) {
  const std::string text = InspectionText(
      TwoSteps({Map(true, "decoder/layers[0]/cross", {1, 0, 0, 1}),
                Map(true, "decoder/layers[1]/cross", {1, 0, 0, 1})}),
      {});
  EXPECT_THAT(
      text,
      HasSubstr("\nmean over heads of decoder/layers[*]/cross/attention/weights"
                "\n"));
}

TEST(InspectionTextTest, DrawsTheAlignmentAndListsTheOutputs) {
  const AlignmentTextStyle style = {.width = 80, .unicode = false};
  const std::string text =
      InspectionText(TwoSteps({Map(true, "attention", {1, 0, .5, .5})}), style);
  EXPECT_EQ(
      text,
      "b <eos>\n\n"
      "attention/attention/weights\n"
      "      a <eos>\n"
      "    b[#]\n"
      "<eos> * *****\n\n"
      "word   log p   entropy  largest weight  largest gain  largest "
      "loss\n"
      "b      -0.500  0.000    a 1             none          a -1\n"
      "<eos>  -1.500  0.693    a 0.5           none          a -0.5\n\n"
      "log p of the whole -2.000; alignment error rate 0.000 against 1 "
      "gold alignments\n"
      "entropy in nats; gains and losses: gradients of log p with respect to "
      "weights\n");
  EXPECT_THAT(InspectionText(TwoSteps({}), style), Not(HasSubstr("entropy")));
}

TEST(InspectionTextTest, ASingleValueHasNoAlignment) {
  Inspection<float> inspection =
      TwoSteps({Map(true, "attention", {1, 0, .5, .5})});
  inspection.labels.successive = false;
  inspection.labels.outputs = {{"value", 0}};
  inspection.labels.output_unit = "value";
  inspection.outputs = {2.5};
  const std::string text = InspectionText(inspection, {});
  EXPECT_THAT(text, HasSubstr("\nvalue 2.500\nentropy in nats"));
}

TEST(InspectionTextTest, AnImageHasNoGoldLinks) {
  Inspection<float> inspection =
      TwoSteps({Map(true, "attention", {1, 0, .5, .5})});
  inspection.labels.gold.clear();
  EXPECT_NE(ErrorRateText(inspection), "");
  inspection.labels.sequences[0].image = TracedImage();
  EXPECT_EQ(ErrorRateText(inspection), "");
}

TEST(PictureOfTest, HasTheImageAndWeightsOfItsPatches) {
  const WeightedImage picture = WeightedImageOf({.height = 1,
                                                 .width = 2,
                                                 .rgb = {1, 2, 3, 4, 5, 6},
                                                 .rows = 1,
                                                 .columns = 2,
                                                 .first = 0},
                                                {.25, .75});
  EXPECT_EQ(picture.height, 1);
  EXPECT_EQ(picture.width, 2);
  EXPECT_THAT(picture.rgb, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(picture.rows, 1);
  EXPECT_EQ(picture.columns, 2);
  EXPECT_THAT(picture.weights, ElementsAre(.25, .75));
}

}  // namespace
}  // namespace regard
