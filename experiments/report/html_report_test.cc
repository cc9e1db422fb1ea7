#include "experiments/report/html_report.h"

#include <regex>
#include <string>
#include <vector>

#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "</pre></script><img src=x onerror=alert(1)>\"'&";

// One of every part, every text hostile.
std::string HostileReport() {
  HtmlReport report(kHostile, kHostile);
  report.AddMetrics({{kHostile, 1, kHostile, kHostile}});
  const std::vector<std::string> paragraphs = {kHostile};
  report.AddText(kHostile, paragraphs);
  report.AddTable(kHostile, {{kHostile}, {{kHostile}}});
  const std::vector<Plot> plots = {
      {kHostile, kHostile, kHostile, {{kHostile, {1, 2}, {3, 4}}}}};
  report.AddPlots(kHostile, plots);
  const std::vector<LabelledMatrix> maps = {
      {kHostile, {kHostile}, {kHostile}, {{1.0}}}};
  report.AddHeatMaps(kHostile, maps);
  report.AddSideBySide(kHostile, kHostile, maps);
  const std::vector<Explanation> explanations = {
      {kHostile, kHostile, maps, {{kHostile}, {{kHostile}}}}};
  report.AddExplanations(kHostile, explanations);
  report.AddSamples({kHostile, kHostile, {{kHostile, kHostile, kHostile}}});
  report.AddConfig(kHostile, kHostile);
  return report.Build();
}

TEST(HtmlReportTest, EscapesEveryText) {
  const std::string page = HostileReport();
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(HtmlReportTest, ForbidsAndNeedsNoRequest) {
  const std::string page = HostileReport();
  EXPECT_THAT(
      page,
      HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'; "
                "script-src 'unsafe-inline'; img-src data:\""));
  // What could load: elements with a source, links, imports, url().
  const std::string style_and_body = page.substr(0, page.find("/*!\n * Chart"));
  EXPECT_FALSE(std::regex_search(
      style_and_body,
      std::regex("<(img|iframe|object|embed|video|audio|source)|<script src|"
                 "@import|url\\(|href=\"(?!#|data:)")));
}

TEST(HtmlReportTest, IsTheSameForTheSameInput) {
  EXPECT_EQ(HostileReport(), HostileReport());
}

TEST(HtmlReportTest, ExplainsMetricsAtTheTop) {
  HtmlReport report("Run", "");
  report.AddConfig("Config", "seed: 1");
  report.AddMetrics({{"test/exact_match", 0.98712, "without attention: 0.4",
                      "share of sentences translated word for word"}});
  const std::string page = report.Build();
  EXPECT_THAT(page, HasSubstr(">0.9871<"));
  EXPECT_THAT(page, HasSubstr("share of sentences translated word for word"));
  EXPECT_THAT(page, HasSubstr("without attention: 0.4"));
  EXPECT_LT(page.find("0.9871"), page.find("seed: 1"));
}

TEST(HtmlReportTest, ListsItsContentsFromSixSectionsOn) {
  HtmlReport report("Run", "");
  for (int i = 0; i < 5; ++i) report.AddConfig("Part", "");
  EXPECT_THAT(report.Build(), Not(HasSubstr("<nav")));
  report.AddConfig("Last part", "");
  EXPECT_THAT(report.Build(), HasSubstr("<a href=\"#s5\">Last part</a>"));
}

TEST(HtmlReportTest, WarnsAgainstReadingTooMuchIntoAttention) {
  HtmlReport report("Run", "");
  EXPECT_THAT(report.Build(), Not(HasSubstr("explanation")));
  report.AddHeatMaps("Attention", {});
  EXPECT_THAT(report.Build(), HasSubstr("not by itself an explanation"));
}

TEST(HtmlReportTest, ExplainsEachResultAndFoldsAllTablesButTheFirst) {
  HtmlReport report("Run", "");
  const LabelledMatrix map = {"weights", {"le"}, {"the"}, {{1.0}}};
  const Explanation one = {"the → le", "Entropy 0.", {map, map}, {{"w"}, {}}};
  const std::vector<Explanation> explanations = {one, one};
  report.AddExplanations("Attention", explanations);
  const std::string page = report.Build();
  EXPECT_THAT(page, HasSubstr("<h3>the → le</h3>\n<p>Entropy 0.</p>"));
  EXPECT_THAT(page, HasSubstr("not by itself an explanation"));
  size_t figures = 0;
  for (size_t at = page.find("<figure"); at != std::string::npos;
       at = page.find("<figure", at + 1)) {
    ++figures;
  }
  EXPECT_EQ(figures, 4u);
  EXPECT_NE(page.find("<details class=\"steps\" open>"),
            page.rfind("<details class=\"steps\">"));
  EXPECT_EQ(page.find("<details class=\"steps\" open>"),
            page.rfind("<details class=\"steps\" open>"));
}

TEST(HtmlReportTest, CarriesTheChartScriptOnlyWhereThereIsAPlot) {
  HtmlReport report("Run", "");
  EXPECT_THAT(report.Build(), Not(HasSubstr("Chart.js v3")));
  report.AddPlots("Curves", {Plot{}});
  EXPECT_THAT(report.Build(), HasSubstr("Chart.js v3"));
}

TEST(HtmlReportTest, CarriesTheScriptOfHeatMapsOnlyWhereThereIsOne) {
  HtmlReport report("Run", "");
  EXPECT_THAT(report.Build(), Not(HasSubstr("data-values")));
  report.AddMatrix({"confusion", {"a"}, {"b"}, {{1.0}}});
  EXPECT_THAT(report.Build(), HasSubstr("querySelectorAll('[data-values]')"));
}

TEST(HtmlReportTest, SetsColumnsOfNumbersToTheRight) {
  HtmlReport report("Run", "");
  report.AddTable("Splits", {{"split", "BLEU"}, {{"unseen", "99.1"}}});
  const std::string page = report.Build();
  EXPECT_THAT(page, HasSubstr("<th>split</th><th class=\"n\">BLEU</th>"));
  EXPECT_THAT(page, HasSubstr("<td>unseen</td><td class=\"n\">99.1</td>"));
}

TEST(HtmlReportTest, JudgesSamplesOnlyWithAReference) {
  HtmlReport report("Run", "");
  report.AddSamples(
      {"S", "input", {{"a", "b", "b", true}, {"c", "", "d", false}}});
  const std::string page = report.Build();
  EXPECT_THAT(page, HasSubstr("✓ same"));
  EXPECT_THAT(page, Not(HasSubstr("✗ differs")));
}

TEST(HtmlReportTest, SamplesWithoutReferencesHaveNoColumnsForThem) {
  HtmlReport report("t", "");
  report.AddSamples({"Samples", "beginning", {{"a", "", "b"}}});
  const std::string page = report.Build();
  EXPECT_THAT(page, HasSubstr("<tr><td>a</td><td>b</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("<th>reference</th>")));
}

TEST(HtmlReportDeathTest, RejectsARaggedTable) {
  HtmlReport report("Run", "");
  EXPECT_DEATH(report.AddTable("T", {{"a", "b"}, {{"1"}}}), "1 vs. 2");
}

}  // namespace
}  // namespace regard
