#include "experiments/run/examples_file.h"

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::SizeIs;

constexpr Aggregate kSum = {
    "sum", 1, [](absl::Span<const double> sums) { return sums[0]; }};

const Aggregates& Known() {
  static const Aggregates* const kKnown =
      new Aggregates{{"ratio", &kRatio}, {"sum", &kSum}};
  return *kKnown;
}

absl::StatusOr<std::vector<EvaluatedSet>> Read(
    absl::string_view text, const Aggregates& aggregates = Known()) {
  const std::string path = JoinPath(::testing::TempDir(), "examples.jsonl");
  EXPECT_THAT(WriteFileAtomically(path, text), IsOk());
  return ReadExamples(path, aggregates);
}

// Returns two examples of dev and one of test.
std::vector<EvaluatedSet> TwoSets() {
  MetricOverExamples accuracy = {"dev/accuracy", &kRatio, true};
  accuracy.Add({1, 3});
  accuracy.Add({0.1, 1});
  MetricOverExamples cost = {"dev/cost", &kSum};
  cost.Add({-2});
  cost.Add({1e300});
  EvaluatedSet dev = {
      .length_unit = "words",
      .examples = {{"a \"b\"\n", "c", "d", 2}, {"\u00e9", "", "", 1}},
      .metrics = {accuracy, cost}};
  MetricOverExamples test = {"test.news/cost", &kSum};
  test.Add({5});
  return {dev, {.examples = {{"x", "y", "z", 0}}, .metrics = {test}}};
}

TEST(ExamplesFileTest, LooksAsDocumented) {
  EXPECT_EQ(
      ExamplesText({TwoSets()[0]}),
      R"({"examples":2,"length_unit":"words","metrics":[)"
      R"({"name":"dev/accuracy","aggregate":"ratio","width":2,)"
      R"("of_single_examples":true},)"
      R"({"name":"dev/cost","aggregate":"sum","width":1,)"
      R"("of_single_examples":false}]})"
      "\n"
      R"({"input":"a \"b\"\n","reference":"c","output":"d","length":2,)"
      R"("statistics":[[1,3],[-2]]})"
      "\n"
      "{\"input\":\"\u00e9\",\"reference\":\"\",\"output\":\"\",\"length\":1,"
      "\"statistics\":[[0.1,1],[1e+300]]}\n");
}

TEST(ExamplesFileTest, ReadsBackTheSameNumbers) {
  const auto sets = Read(ExamplesText(TwoSets()));
  ASSERT_THAT(sets, IsOk());
  EXPECT_EQ(ExamplesText(*sets), ExamplesText(TwoSets()));
  ASSERT_THAT(*sets, SizeIs(2));
  EXPECT_EQ((*sets)[0].metrics[0].Value(), 1.1 / 4);
  EXPECT_EQ((*sets)[0].examples[0].input, "a \"b\"\n");
}

TEST(ExamplesFileTest, ReadsBackNonFiniteValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  MetricOverExamples cost = {"dev/cost", &kRatio};
  cost.Add({std::numeric_limits<double>::quiet_NaN(), 1});
  cost.Add({kInfinity, -kInfinity});
  const std::vector<EvaluatedSet> sets = {
      {.examples = {{"a", "b", "c", 1}, {"d", "e", "f", 2}},
       .metrics = {cost}}};
  const std::string text = ExamplesText(sets);
  const auto read = Read(text);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT((*read)[0].metrics[0].statistics,
              ElementsAre(IsNan(), 1, kInfinity, -kInfinity));
  EXPECT_EQ(ExamplesText(*read), text);
  // Earlier versions wrote null instead of "NaN".
  const auto earlier = Read(absl::StrReplaceAll(text, {{"\"NaN\"", "null"}}));
  ASSERT_THAT(earlier, IsOk());
  EXPECT_THAT((*earlier)[0].metrics[0].statistics[0], IsNan());
}

TEST(ExamplesFileTest, ARunMayHaveNoExamples) {
  EXPECT_EQ(ExamplesText({}), "");
  EXPECT_THAT(Read("").value(), IsEmpty());
}

TEST(ExamplesFileTest, LeavesOutMetricsThatItCannotCompute) {
  const auto sets = Read(ExamplesText(TwoSets()), {{"sum", &kSum}});
  ASSERT_THAT(sets, IsOk());
  ASSERT_THAT((*sets)[0].metrics, SizeIs(1));
  EXPECT_EQ((*sets)[0].metrics[0].name, "dev/cost");
  EXPECT_THAT((*sets)[0].metrics[0].statistics, ElementsAre(-2, 1e300));
}

TEST(ExamplesFileTest, SaysWhichLineIsWrong) {
  const std::string good = ExamplesText(TwoSets());
  const auto line_of = [&](const char* from, const char* to) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    EXPECT_NE(bad, good) << from;
    return std::string(Read(bad).status().message());
  };
  EXPECT_THAT(line_of("[1,3]", "[1]"), HasSubstr("examples.jsonl:2:"));
  EXPECT_THAT(line_of("[1,3]", "[1,\"3\"]"), HasSubstr("examples.jsonl:2:"));
  EXPECT_THAT(line_of("[-2]", "2"), HasSubstr("examples.jsonl:2:"));
  EXPECT_THAT(line_of("\"length\":1", "\"length\":-1"),
              HasSubstr("examples.jsonl:3:"));
  EXPECT_THAT(line_of("\"examples\":2", "\"examples\":3"),
              HasSubstr("examples.jsonl:4:1: error: "));
  EXPECT_THAT(line_of("\"width\":2", "\"width\":3"),
              HasSubstr("examples.jsonl:1:"));
  EXPECT_THAT(Read("x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("examples.jsonl:1:1: error: not JSON")));
}

TEST(ExamplesFileTest, RejectsAHugeFileWithoutReadingIt) {
  const std::string path = JoinPath(::testing::TempDir(), "huge.jsonl");
  ASSERT_THAT(WriteFileAtomically(path, ""), IsOk());
  std::filesystem::resize_file(path, (1 << 30) + 1);  // a sparse file
  EXPECT_THAT(
      ReadExamples(path, Known()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("huge.jsonl")));
}

TEST(ExamplesFileTest, ErrorsNameTheFile) {
  EXPECT_THAT(
      ReadExamples("no/examples.jsonl", Known()),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no/examples.jsonl")));
}

TEST(FinalSetsTest, TakesTestBeforeDev) {
  ASSERT_THAT(FinalSets(TwoSets()), SizeIs(1));
  EXPECT_EQ(FinalSets(TwoSets())[0].metrics[0].name, "test.news/cost");
  EXPECT_THAT(FinalSets({TwoSets()[0]}), SizeIs(1));
  EXPECT_THAT(FinalSets({}), IsEmpty());
}

}  // namespace
}  // namespace regard
