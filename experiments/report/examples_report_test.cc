#include "experiments/report/examples_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Returns a set with one example of each length. An example is correct if its
// length is at most `longest_right`.
EvaluatedSet SetOf(const std::vector<int64_t>& lengths, int64_t longest_right) {
  EvaluatedSet set = {.length_unit = "words"};
  MetricOverExamples metric = {.name = "test/accuracy",
                               .of_single_examples = true};
  for (const int64_t length : lengths) {
    const std::string name(static_cast<size_t>(length), 'x');
    set.examples.push_back({name, "reference", "output", length});
    metric.Add({length <= longest_right ? 1.0 : 0.0, 1.0});
  }
  set.metrics = {metric};
  return set;
}

std::vector<std::string> Column(const Table& table, size_t column) {
  std::vector<std::string> cells;
  for (const auto& row : table.rows) cells.push_back(row[column]);
  return cells;
}

TEST(MeasureByLengthTest, MeasuresEachRange) {
  const EvaluatedSet run = SetOf({2, 1, 1, 3, 3, 3}, 2);
  const EvaluatedSet baseline = SetOf({2, 1, 1, 3, 3, 3}, 1);
  const MetricByLengthFigure result =
      MeasureByLength({{"run", &run}, {"without", &baseline}}, 1);
  EXPECT_EQ(result.plot.title, "test/accuracy by words");
  ASSERT_THAT(result.plot.series, SizeIs(2));
  EXPECT_THAT(result.plot.series[0].xs, ElementsAre(1, 2, 3));
  EXPECT_THAT(result.plot.series[0].ys, ElementsAre(1, 1, 0));
  EXPECT_THAT(result.plot.series[1].ys, ElementsAre(1, 0, 0));
  EXPECT_THAT(result.plot.series[0].low, ElementsAre(1, 1, 0));
  EXPECT_THAT(result.plot.series[0].high, ElementsAre(1, 1, 0));
  EXPECT_THAT(result.table.header,
              ElementsAre("words", "examples", "run", "without"));
  EXPECT_THAT(Column(result.table, 0), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Column(result.table, 1), ElementsAre("2", "1", "3"));
  EXPECT_THAT(Column(result.table, 3),
              ElementsAre("1 [1, 1]", "0 [0, 0]", "0 [0, 0]"));
}

TEST(MeasureByLengthTest, TheLastRangeIncludesAllLongerExamples) {
  std::vector<int64_t> lengths(99, 10);
  std::fill(lengths.begin(), lengths.begin() + 49, 12);
  lengths[98] = 1;
  lengths.insert(lengths.end(), {40, 50});
  const EvaluatedSet run = SetOf(lengths, 12);
  const MetricByLengthFigure result = MeasureByLength({{"run", &run}}, 1);
  // Each range must contain two lengths, except for the last.
  EXPECT_THAT(Column(result.table, 0), ElementsAre("1-2", "9-10", "11+"));
  EXPECT_THAT(Column(result.table, 1), ElementsAre("1", "49", "51"));
  const Series& series = result.plot.series[0];
  EXPECT_THAT(series.xs, ElementsAre(1, 10, (49 * 12 + 90) / 51.0));
  EXPECT_THAT(series.ys, ElementsAre(1, 1, 49 / 51.0));
  // All examples of the second range are correct, so its band has no width. The
  // last range has correct and wrong examples.
  EXPECT_EQ(series.low[1], 1);
  EXPECT_EQ(series.high[1], 1);
  EXPECT_GT(series.low[2], 0.8);
  EXPECT_LT(series.low[2], 49 / 51.0);
  EXPECT_EQ(series.high[2], 1);
}

TEST(MeasureByLengthTest, RangesAreFewAndRound) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i <= 400; ++i) lengths.push_back(i / 10);
  const EvaluatedSet run = SetOf(lengths, 100);
  const MetricByLengthFigure result = MeasureByLength({{"run", &run}}, 1);
  EXPECT_THAT(Column(result.table, 0),
              ElementsAre("0", "1-10", "11-20", "21-30", "31-40"));
}

TEST(MeasureByLengthTest, NeedsLengthsThatDiffer) {
  const EvaluatedSet run = SetOf({3, 3}, 3);
  EXPECT_THAT(MeasureByLength({{"run", &run}}, 1).table.rows, IsEmpty());
  const EvaluatedSet none;
  EXPECT_THAT(MeasureByLength({{"run", &none}}, 1).table.rows, IsEmpty());
  EXPECT_THAT(MeasureByLength({}, 1).table.rows, IsEmpty());
}

std::vector<MetricInfo> InfosOf(Better better) {
  return {{.name = "accuracy", .unit = "", .meaning = "", .better = better}};
}

TEST(WorstAndBestTest, ShowsBothEndsOnce) {
  EvaluatedSet set = SetOf({1, 2, 3, 4, 5}, 0);
  set.metrics[0].statistics = {0.5, 1, 0.2, 1, 0.9, 1, 0.1, 1, 0.7, 1};
  // Adds the worst example a second time. It must be listed only once.
  set.examples.push_back(set.examples[3]);
  set.metrics[0].Add({0.1, 1});
  const Table table = WorstAndBest(set, InfosOf(Better::kHigher));
  EXPECT_THAT(table.header,
              ElementsAre("", "test/accuracy", "input", "reference", "output"));
  ASSERT_THAT(table.rows, SizeIs(4));
  EXPECT_THAT(table.rows[0],
              ElementsAre("worst", "0.1", "xxxx", "reference", "output"));
  EXPECT_THAT(Column(table, 1), ElementsAre("0.1", "0.2", "0.9", "0.7"));
}

TEST(WorstAndBestTest, ShowsFiveOfEach) {
  const EvaluatedSet set =
      SetOf({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, 6);
  EXPECT_THAT(Column(WorstAndBest(set, InfosOf(Better::kHigher)), 1),
              ElementsAre("0", "0", "0", "0", "0", "1", "1", "1", "1", "1"));
}

TEST(WorstAndBestTest, TheLowestAreBestIfLowerIsBetter) {
  EvaluatedSet set = SetOf({1, 2, 3, 4}, 0);
  set.metrics[0].statistics = {0.5, 1, 0.2, 1, 0.9, 1, 0.1, 1};
  const Table table = WorstAndBest(set, InfosOf(Better::kLower));
  EXPECT_THAT(Column(table, 0), ElementsAre("worst", "worst", "best", "best"));
  EXPECT_THAT(Column(table, 1), ElementsAre("0.9", "0.5", "0.1", "0.2"));
}

TEST(WorstAndBestTest, NeedsAMetricOfSingleExamplesWithADirection) {
  EvaluatedSet set = SetOf({1, 2, 3}, 2);
  const std::vector<MetricInfo> infos = InfosOf(Better::kHigher);
  EXPECT_THAT(WorstAndBest(set, infos).rows, SizeIs(2));
  EXPECT_THAT(WorstAndBest(set, InfosOf(Better::kNeither)).rows, IsEmpty());
  EXPECT_THAT(WorstAndBest(set, {}).rows, IsEmpty());
  EXPECT_THAT(WorstAndBest(SetOf({1}, 1), infos).rows, IsEmpty());
  set.metrics[0].of_single_examples = false;
  EXPECT_THAT(WorstAndBest(set, infos).rows, IsEmpty());
}

TEST(SameExamplesTest, ComparesInputsReferencesAndMetrics) {
  const EvaluatedSet set = SetOf({1, 2}, 2);
  EvaluatedSet other = SetOf({1, 2}, 0);
  other.examples[0].output = "another";
  EXPECT_TRUE(HaveSameExamples(set, other));
  other.examples[0].reference = "another";
  EXPECT_FALSE(HaveSameExamples(set, other));
  other = set;
  other.metrics[0].name = "dev/accuracy";
  EXPECT_FALSE(HaveSameExamples(set, other));
  EXPECT_FALSE(HaveSameExamples(set, SetOf({1}, 1)));
  EXPECT_FALSE(HaveSameExamples(set, EvaluatedSet()));
}

}  // namespace
}  // namespace regard
