#include "experiments/report/bert_inspection.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "experiments/report/run_results.h"
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

TEST(InspectBertTest, EveryHeadOfEveryLayerSharesOutOne) {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  const auto model = ReadBertFolder("pretrained/testdata/bert", scorers);
  ASSERT_THAT(model.status(), testing::IsOk());
  const std::vector<int32_t> ids =
      model->pieces->Encode("the cat", model->longest);
  Tape<float> tape;
  Forward<float> forward(tape, std::as_const(*model->parameters), nullptr);
  forward.BeginStep();
  const BertInspection inspection = InspectBert(
      *model->bert, *model->pieces, forward, {.size = 1, .ids = ids});
  ASSERT_EQ(inspection.tokens.size(), ids.size());
  EXPECT_EQ(inspection.tokens.front(), "[CLS]");
  EXPECT_EQ(inspection.tokens.back(), "[SEP]");
  ASSERT_EQ(static_cast<int64_t>(inspection.layers.size()),
            model->bert->stack().layers());
  const size_t tokens = ids.size();
  for (const LabelledMatrix& layer : inspection.layers) {
    EXPECT_EQ(layer.rows, inspection.tokens);
    EXPECT_EQ(layer.columns, inspection.tokens);
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
  EXPECT_EQ(HeadsTable(inspection).rows.size(),
            inspection.layers.size() * inspection.layers[0].heads.size());
  EXPECT_THAT(BertInspectionHtml(inspection, "tiny"), HasSubstr("layer 1"));
}

TEST(HeadsTableTest, AveragesOverTheTokensBetweenTheEnds) {
  BertInspection inspection;
  inspection.tokens = {"[CLS]", "a", "b", "[SEP]"};
  inspection.layers.push_back({.heads = {{1, 0, 0, 0,       //
                                          0, 1, 0, 0,       // a: itself
                                          .5, .25, 0, .25,  // b
                                          1, 0, 0, 0}}});
  const Table table = HeadsTable(inspection);
  EXPECT_THAT(table.header, ElementsAre("layer", "head", "entropy", "itself",
                                        "before", "after", "[CLS]", "[SEP]"));
  // b's entropy is (ln 2 + ln 4) / 2 = 1.0397.
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("1", "1", "0.520", "0.500", "0.125",
                                      "0.125", "0.250", "0.125")));
}

TEST(HeadsTableTest, OfAnEmptyTextAreTheMeansOverItsEnds) {
  BertInspection inspection;
  inspection.tokens = {"[CLS]", "[SEP]"};
  inspection.layers.push_back({.heads = {{1, 0, .5, .5}}});
  EXPECT_THAT(HeadsTable(inspection).rows,
              ElementsAre(ElementsAre("1", "1", "0.347", "0.750", "0.250",
                                      "0.000", "0.750", "0.250")));
}

}  // namespace
}  // namespace regard
