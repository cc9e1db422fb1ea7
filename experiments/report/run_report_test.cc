#include "experiments/report/run_report.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimization/evaluated_set.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

ReportedRun SampleReport() {
  ReportedRun report;
  report.name = "phrasebook";
  report.metric_infos = {{.name = "exact_match",
                          .unit = "",
                          .meaning = "share of outputs that are right",
                          .better = Better::kHigher},
                         {.name = "loss",
                          .unit = "nats per token",
                          .meaning = "cross-entropy",
                          .better = Better::kLower,
                          .logarithmic = true}};
  report.metrics = {{"test/charm", 12}, {"test/exact_match", 0.9871}};
  report.baseline_name = "without attention";
  report.baseline_metrics = {{"test/exact_match", 0.412}};
  report.showcase.samples = {
      .title = "Translations",
      .input = "source",
      .rows = {{"they are watching .", "ils regardent .", "ils regardent ."},
               {"a cat .", "un chat .", "le chat ."}}};
  report.showcase.heat_maps = {{.rows = {"un", "chat"},
                                .columns = {"a", "cat"},
                                .heads = {{0.9, 0.1, 0.0, 1.0}}}};
  report.showcase.heat_map_caption = "Attention: rows look at columns";
  report.run_path = "runs/1";
  report.report_path = "runs/1/report.html";
  return report;
}

TEST(RunReportTextTest, LooksAsDocumented) {
  EXPECT_EQ(RunReportText(SampleReport(), {.width = 80, .unicode = false}),
            "Final metrics\n"
            "  test/charm            12\n"
            "  test/exact_match  0.9871  share of outputs that are right; "
            "higher is better\n"
            "                            without attention: 0.412\n"
            "\n"
            "Translations\n"
            "  they are watching .\n"
            "    model      ils regardent .\n"
            "  a cat .\n"
            "    model      le chat .\n"
            "    reference  un chat .\n"
            "\n"
            "Attention: rows look at columns\n"
            "     a cat\n"
            "  un # ...\n"
            "chat   ###\n"
            "\n"
            "Run     runs/1\n"
            "Report  runs/1/report.html\n");
}

TEST(RunReportTextTest, SaysHowMuchANumberDependsOnTheExamples) {
  ReportedRun report;
  report.metrics = {{"test/bleu", 38.5}};
  report.confidence = {{"test/bleu", {38.25, 1.5, 37, 40}}};
  EXPECT_EQ(RunReportText(report, {}),
            "Final metrics\n  test/bleu  38.5  95 %: 38.25 [37, 40]\n");
}

TEST(RunReportTextTest, OmitsEmptyParts) {
  EXPECT_EQ(RunReportText({}, {}), "");
  EXPECT_EQ(RunReportText({.run_path = "runs/1"}, {}), "Run     runs/1\n");
}

TEST(RunReportTextTest, ShowsAHeatMapOnlyWithACaption) {
  ReportedRun report = SampleReport();
  report.showcase.heat_map_caption.clear();
  EXPECT_THAT(RunReportText(report, {}), Not(HasSubstr("cat\n  un")));
}

TEST(RunReportTextTest, WrapsMeaningsBesideTheNumber) {
  ReportedRun report;
  report.metric_infos = SampleReport().metric_infos;
  report.metrics = {{"test/exact_match", 0.5}};
  EXPECT_EQ(RunReportText(report, {.width = 52}),
            "Final metrics\n"
            "  test/exact_match  0.5  share of outputs that are\n"
            "                         right; higher is better\n");
}

TEST(RunReportTextTest, ShowsFiveSamplesBesideMeaningsOf24Columns) {
  ReportedRun report;
  report.metrics = {{"test/exact_match", 0.5}};
  report.metric_infos = SampleReport().metric_infos;
  report.showcase.samples = {"S", "i",
                             std::vector<ExampleTexts>(7, {"a", "", "b"})};
  EXPECT_EQ(
      RunReportText(report, {.width = 10}),
      "Final metrics\n"
      "  test/exact_match  0.5  share of outputs that\n"
      "                         are right; higher is\n"
      "                         better\n\nS\n" +
          absl::StrJoin(std::vector<std::string>(5, "  a\n    model      b\n"),
                        ""));
}

TEST(RunReportTextTest, EscapesControlCharactersOfTexts) {
  ReportedRun report;
  report.metrics = {{"test/a\x1b[2J", 1}};
  report.showcase.notes = {{"test/a\x1b[2J", "b\x1b[2J"}};
  report.showcase.samples = {"t\x1b", "i", {{"c\x1b]0;", "d\x1b", "e\x1b"}}};
  report.run_path = "f\x1b";
  EXPECT_THAT(RunReportText(report, {}), Not(HasSubstr("\x1b")));
}

TEST(RunReportHtmlTest, UsesTheDeclarationOfEachMetric) {
  ReportedRun report = SampleReport();
  report.records = {{.step = 1, .metrics = {{"train/loss", 2.0}}},
                    {.step = 2, .metrics = {{"train/loss", 1.0}}}};
  const std::string page = RunReportHtml(report);
  EXPECT_THAT(page, HasSubstr("share of outputs that are right"));
  EXPECT_THAT(page, HasSubstr("\"y\":\"nats per token\",\"log\":true"));
  EXPECT_THAT(page, HasSubstr("<th>source</th>"));
}

// A run may measure a step twice. The curve must have the last value of each
// step.
TEST(RunReportHtmlTest, ACurveHasAtLeastTwoStepsWithTheirLastValues) {
  ReportedRun report = SampleReport();
  report.records = {
      {.step = 3, .metrics = {{"train/loss", 2}, {"dev/exact_match", 1}}},
      {.step = 5, .metrics = {{"train/loss", 9}, {"dev/loss", 9}}},
      {.step = 5, .metrics = {{"train/loss", 1}, {"dev/loss", 1}}}};
  const std::string page = RunReportHtml(report);
  EXPECT_THAT(page, HasSubstr("{\"x\":\"step\",\"y\":\"nats per token\","
                              "\"log\":true,\"series\":[{\"name\":"
                              "\"train/loss\",\"style\":\"line\",\"xs\":"
                              "[3,5],\"ys\":[2,1]}]}"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"loss\""));
  EXPECT_THAT(page, Not(HasSubstr("aria-label=\"exact_match\"")));
  EXPECT_THAT(page, HasSubstr("✗ differs"));
}

// Returns two examples, with one and two words. Only the first is correct.
EvaluatedSet TwoExamples(const char* output) {
  MetricOverExamples metric = {"test/accuracy", &kRatio, true};
  metric.Add({1, 1});
  metric.Add({0, 1});
  return {.length_unit = "words",
          .examples = {{"<b>one", "eins", output, 1},
                       {"two words", "zwei", output, 2}},
          .metrics = {metric}};
}

TEST(RunReportHtmlTest, DrawsAMetricByLengthBesideTheBaseline) {
  ReportedRun report;
  report.name = "mine";
  report.metric_infos = {{"accuracy", "", "", Better::kHigher}};
  report.baseline_name = "without attention";
  report.sets = {TwoExamples("ein")};
  report.baseline_sets = {TwoExamples("uno")};
  const std::string page = RunReportHtml(report);
  EXPECT_THAT(page, HasSubstr("test/accuracy by words"));
  EXPECT_THAT(page, HasSubstr("\"name\":\"mine\",\"style\":\"line\","
                              "\"xs\":[1,2],\"ys\":[1,0],\"low\":[1,0],"));
  EXPECT_THAT(page, HasSubstr("\"name\":\"without attention\""));
  EXPECT_THAT(page, HasSubstr("Worst and best by test/accuracy"));
  EXPECT_THAT(page, HasSubstr("<td>&lt;b&gt;one</td><td>eins</td>"));
  EXPECT_EQ(page, RunReportHtml(report));
  // A baseline with different examples must not be compared.
  report.baseline_sets[0].examples[0].input = "else";
  EXPECT_THAT(RunReportHtml(report), Not(HasSubstr("without attention")));
}

TEST(RunReportHtml, TheFirstScreenHasSixNumbers) {
  ReportedRun report;
  report.name = "many";
  report.baseline_name = "base";
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("m", 8 - i);
    report.metric_infos.push_back({name, "", absl::StrCat("of ", name)});
    report.metrics[absl::StrCat("dev/", name)] = i;
    report.metrics[absl::StrCat("test/", name)] = i;
    report.baseline_metrics[absl::StrCat("test/", name)] = 100 + i;
  }
  const std::string page = RunReportHtml(report);
  const std::vector<std::string> parts = absl::StrSplit(page, "<dt>");
  ASSERT_THAT(parts, SizeIs(7));
  // Metrics must keep the order of their declaration, rather than be sorted by
  // name.
  EXPECT_THAT(parts[1], StartsWith("test/m8<"));
  EXPECT_THAT(parts[1], HasSubstr("base: 100"));
  EXPECT_THAT(parts[6], StartsWith("test/m3<"));
  EXPECT_THAT(parts[6], HasSubstr("Other metrics"));
  EXPECT_THAT(parts[6], HasSubstr("test/m2<"));
  EXPECT_THAT(parts[6], HasSubstr("base: 107"));
  EXPECT_THAT(parts[6], HasSubstr("dev/m8<"));
}

TEST(RunReportHtml, WithoutAPlainTestTheFirstScreenHasOtherNumbers) {
  ReportedRun report;
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("m", 8 - i);
    report.metric_infos.push_back({name, "", absl::StrCat("of ", name)});
    report.metrics[absl::StrCat("dev/", name)] = i;
    report.metrics[absl::StrCat("train/", name)] = i;
  }
  const auto cards = [&report] {
    return std::vector<std::string>(
        absl::StrSplit(RunReportHtml(report), "<dt>"));
  };
  const std::vector<std::string> dev = cards();
  ASSERT_THAT(dev, SizeIs(7));
  EXPECT_THAT(dev[1], StartsWith("dev/m8<"));
  report.metrics["test.news/m4"] = 12.5;
  const std::vector<std::string> news = cards();
  ASSERT_THAT(news, SizeIs(2));
  EXPECT_THAT(news[1], StartsWith("test.news/m4<"));
  EXPECT_THAT(news[1], HasSubstr("dev/m8<"));
  EXPECT_THAT(RunReportText(report, {}),
              StartsWith("Final metrics\n  test.news/m4  12.5  of m4"));
}

TEST(RunReportHtml, JudgesSamplesOnlyWithAReference) {
  ReportedRun report;
  report.showcase.samples = {"S", "input", {{"a", "b", "b"}, {"c", "", "d"}}};
  const std::string page = RunReportHtml(report);
  EXPECT_THAT(page, HasSubstr("✓ same"));
  EXPECT_THAT(page, Not(HasSubstr("✗ differs")));
}

TEST(RunReportHtml, SamplesWithoutReferencesHaveNoColumnsForThem) {
  ReportedRun report;
  report.showcase.samples = {"Samples", "beginning", {{"a", "", "b"}}};
  const std::string page = RunReportHtml(report);
  EXPECT_THAT(page, HasSubstr("<tr><td>a</td><td>b</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("<th>reference</th>")));
}

TEST(RunReportHtml, ASectionOfTheTaskMayTakeThePlaceOfTheHeatMaps) {
  ReportedRun report;
  report.showcase.heat_maps = {{"a map", {"r"}, {"c"}, {{1.0}}}};
  report.showcase.sections = {{"Misses", {"Three."}}};
  EXPECT_THAT(RunReportHtml(report), HasSubstr("<h2>Misses</h2>\n<p>Three."));
  // The first screen must always have one map.
  const auto maps = [&report] {
    return std::vector<std::string>(
               absl::StrSplit(RunReportHtml(report), ">a map</figcaption>"))
               .size() -
           1;
  };
  EXPECT_EQ(maps(), 2);
  report.showcase.heat_maps_on_page = false;
  EXPECT_EQ(maps(), 1);
}

TEST(RunReportHtml, AttentionComesBeforeTheExamplesByLengthAndByMetric) {
  ReportedRun report = SampleReport();
  report.showcase.sections = {{"Heads", {"Four."}}};
  report.metric_infos.push_back({"accuracy", "", "", Better::kHigher});
  report.sets = {TwoExamples("ein")};
  const std::string page = RunReportHtml(report);
  size_t last = page.find("<header>");
  for (const char* part :
       {"class=\"hm\"", "class=\"cards\"", "<nav", "<h2>Translations",
        "<h2>Heads", "<h2>Attention", "<h2>By length", "<h2>Worst and best"}) {
    const size_t place = page.find(part, last);
    ASSERT_NE(place, std::string::npos) << part << " is not after " << last;
    last = place;
  }
}

}  // namespace
}  // namespace regard
