#include "tools/bert_inspection.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/masked_words/bert_maps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "pretrained/bert_folder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(BertMapsTest, EveryHeadOfEveryLayerSharesOutOne) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  const auto model = ReadBertFolder("pretrained/testdata/bert", scorers);
  ASSERT_THAT(model.status(), testing::IsOk());
  const std::vector<int32_t> ids =
      model->pieces->Encode("the cat", model->longest);
  Tape<float> tape;
  Forward<float> forward(tape, std::as_const(*model->parameters), nullptr);
  forward.BeginStep();
  const std::vector<LabelledMatrix> layers =
      BertMaps(*model->bert, *model->pieces, forward, {.size = 1, .ids = ids});
  ASSERT_EQ(static_cast<int64_t>(layers.size()), model->bert->stack().layers());
  const size_t tokens = ids.size();
  for (const LabelledMatrix& layer : layers) {
    ASSERT_EQ(layer.rows.size(), tokens);
    EXPECT_EQ(layer.rows.front(), "[CLS]");
    EXPECT_EQ(layer.rows.back(), "[SEP]");
    EXPECT_EQ(layer.columns, layer.rows);
    EXPECT_THAT(layer.heads, Each(SizeIs(tokens * tokens)));
    for (const std::vector<double>& head : layer.heads) {
      for (size_t i = 0; i < tokens; ++i) {
        const auto row = head.begin() + static_cast<int64_t>(i * tokens);
        EXPECT_NEAR(
            std::accumulate(row, row + static_cast<int64_t>(tokens), 0.), 1,
            1e-6);
      }
    }
  }
  EXPECT_EQ(HeadsTable(layers).rows.size(),
            layers.size() * layers[0].heads.size());
  EXPECT_THAT(BertInspectionHtml(layers, "tiny"), HasSubstr("layer 1"));
}

TEST(HeadsTableTest, AveragesOverTheTokensBetweenTheEnds) {
  const Table table = HeadsTable({{.rows = {"[CLS]", "a", "b", "[SEP]"},
                                   .heads = {{1, 0, 0, 0,       //
                                              0, 1, 0, 0,       // a: itself
                                              .5, .25, 0, .25,  // b
                                              1, 0, 0, 0}}}});
  EXPECT_THAT(table.header, ElementsAre("layer", "head", "entropy", "itself",
                                        "before", "after", "[CLS]", "[SEP]"));
  // b's entropy is (ln 2 + ln 4) / 2 = 1.0397.
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("1", "1", "0.520", "0.500", "0.125",
                                      "0.125", "0.250", "0.125")));
}

TEST(HeadsTableTest, OfAnEmptyTextAreTheMeansOverItsEnds) {
  EXPECT_THAT(
      HeadsTable({{.rows = {"[CLS]", "[SEP]"}, .heads = {{1, 0, .5, .5}}}})
          .rows,
      ElementsAre(ElementsAre("1", "1", "0.347", "0.750", "0.250", "0.000",
                              "0.750", "0.250")));
}

}  // namespace
}  // namespace regard
