#include "experiments/report/report.h"

#include <regex>
#include <string>
#include <vector>

#include "experiments/report/run_results.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "</pre></script><img src=x onerror=alert(1)>\"'&";

// Returns a report with one block of every kind. If a text were not escaped, it
// would insert an element into the page.
Report HostileReport() {
  const Table table = {{kHostile}, {{kHostile}}};
  const Plot plot = {
      kHostile, kHostile, kHostile, {{kHostile, {1, 2}, {3, 4}}}};
  const LabelledMatrix map = {kHostile, {kHostile}, {kHostile}, {{1.0}}};
  return {.title = kHostile,
          .summary = kHostile,
          .metrics = {{kHostile, 1, kHostile, kHostile}},
          .sections = {
              {kHostile,
               {kHostile, Heading{kHostile}, AttentionCaution(), table,
                CollapsibleBlock{kHostile, table},
                CollapsibleBlock{kHostile, kHostile}, plot, Maps{{map}},
                Maps{{map}, true},
                std::vector<WeightedImage>{{kHostile, 1, 1, {1, 2, 3}}}}},
          }};
}

// Returns a page with one section.
std::string PageOf(const std::vector<Block>& blocks) {
  return ReportHtml({.sections = {{"Section", blocks}}});
}

TEST(ReportHtmlTest, EscapesEveryText) {
  const std::string page = ReportHtml(HostileReport());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("</script><img")));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(page, HasSubstr("\\u003c/pre>\\u003c/script>"));
}

TEST(ReportHtmlTest, ForbidsAndNeedsNoRequest) {
  const std::string page = ReportHtml(HostileReport());
  EXPECT_THAT(
      page,
      HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'; "
                "script-src 'unsafe-inline'; img-src data:\""));
  // A page must not load anything, so it has no elements with a source, links,
  // imports or url().
  const std::string style_and_body = page.substr(0, page.find("/*!\n * Chart"));
  EXPECT_FALSE(std::regex_search(
      style_and_body,
      std::regex("<(img|iframe|object|embed|video|audio|source)|<script src|"
                 "@import|url\\(|href=\"(?!#|data:)")));
}

TEST(ReportHtmlTest, EndsEveryElementThatItBegins) {
  std::string page = ReportHtml(HostileReport());
  page = page.substr(0, page.find("<script"));
  page = std::regex_replace(page, std::regex("<(meta|link|image|!)[^>]*>"), "");
  const std::regex tag("<(/?)([a-z0-9]+)[^>]*>");
  std::vector<std::string> open;
  for (std::sregex_iterator at(page.begin(), page.end(), tag), end; at != end;
       ++at) {
    const std::smatch& match = *at;
    if (match[1].length() == 0) {
      open.push_back(match[2]);
      continue;
    }
    ASSERT_FALSE(open.empty()) << match[0] << " ends nothing";
    ASSERT_EQ(match[2], open.back()) << page.substr(0, match.position());
    open.pop_back();
  }
  // Only <html> and <body> are still open, because the scripts of the figures
  // follow.
  EXPECT_THAT(open, ElementsAre("html", "body"));
}

TEST(ReportHtmlTest, IsTheSameForTheSameInput) {
  EXPECT_EQ(ReportHtml(HostileReport()), ReportHtml(HostileReport()));
}

TEST(ReportHtmlTest, ExplainsMetricsAtTheTop) {
  const std::string page = ReportHtml(
      {.metrics = {{"test/exact_match", 0.98712, "without attention: 0.4",
                    "share of sentences translated word for word"}},
       .sections = {{"Config", {CollapsibleBlock{"Show", "seed: 1"}}}}});
  EXPECT_THAT(page, HasSubstr(">0.9871<"));
  EXPECT_THAT(page, HasSubstr("share of sentences translated word for word"));
  EXPECT_THAT(page, HasSubstr("without attention: 0.4"));
  EXPECT_LT(page.find("0.9871"), page.find("seed: 1"));
}

TEST(ReportHtmlTest, ListsItsContentsFromSixSectionsOn) {
  Report report = {.sections = std::vector<Section>(5, {.title = "Part"})};
  EXPECT_THAT(ReportHtml(report), Not(HasSubstr("<nav")));
  report.sections.push_back({.title = "Last part"});
  EXPECT_THAT(ReportHtml(report), HasSubstr("<a href=\"#s5\">Last part</a>"));
}

TEST(ReportHtmlTest, WarnsAgainstReadingTooMuchIntoAttention) {
  EXPECT_THAT(PageOf({}), Not(HasSubstr("explanation")));
  EXPECT_THAT(PageOf({AttentionCaution()}),
              HasSubstr("do not explain a prediction by themselves"));
}

TEST(ReportHtmlTest, CollapsesClosedSections) {
  const Table steps = {{"w"}, {}};
  const std::string page = PageOf({Heading{"the → le"}, "Entropy 0.",
                                   CollapsibleBlock{"Each step", steps, true},
                                   CollapsibleBlock{"Each step", steps}});
  EXPECT_THAT(page, HasSubstr("<h3>the → le</h3>\n<p>Entropy 0.</p>"));
  EXPECT_LT(page.find("<details open>"), page.find("<details>"));
  EXPECT_EQ(page.find("<details open>"), page.rfind("<details open>"));
  EXPECT_EQ(page.find("<details>"), page.rfind("<details>"));
}

TEST(ReportHtmlTest, IncludesTheChartScriptOnlyWithAPlot) {
  EXPECT_THAT(PageOf({}), Not(HasSubstr("Chart.js v3")));
  EXPECT_THAT(PageOf({Plot()}), HasSubstr("Chart.js v3"));
}

TEST(ReportHtmlTest, KeysOfTheLegendAreDashedLikeTheirLines) {
  const std::string page = PageOf({Plot()});
  for (const char* style : {"dashed", "dotted", "dashdot"}) {
    EXPECT_THAT(page, HasSubstr(std::string(style) + ": ["));
    EXPECT_THAT(page, HasSubstr(std::string(".key.") + style + " {"));
  }
}

TEST(ReportHtmlTest, IncludesAScriptOnlyWithAFigure) {
  EXPECT_THAT(PageOf({}), Not(HasSubstr("<script")));
  const std::string page =
      PageOf({Maps{{{"confusion", {"a"}, {"b"}, {{1.0}}}}}});
  EXPECT_THAT(page, HasSubstr("function drawHeatMap("));
  EXPECT_THAT(page, Not(HasSubstr("Chart.js v3")));
}

// Light and dark pages must each have two colour scales.
TEST(ReportHtmlTest, HasARampForWeightsAndForNegativeValues) {
  const std::string page = PageOf({});
  for (const char* stops : {" --stops: #", " --negative-stops: #"}) {
    const size_t first = page.find(stops);
    ASSERT_NE(first, std::string::npos) << stops;
    EXPECT_NE(page.find(stops, first + 1), std::string::npos) << stops;
  }
}

TEST(ReportHtmlTest, SetsColumnsOfNumbersToTheRight) {
  const std::string page =
      PageOf({Table{{"split", "BLEU"}, {{"unseen", "99.1"}}}});
  EXPECT_THAT(page, HasSubstr("<th>split</th><th class=\"n\">BLEU</th>"));
  EXPECT_THAT(page, HasSubstr("<td>unseen</td><td class=\"n\">99.1</td>"));
}

TEST(ReportHtmlTest, ColorsVerdicts) {
  const std::string page =
      PageOf({Table{{""}, {{kVerdictSame}, {kVerdictDiffers}, {"same"}}}});
  EXPECT_THAT(page, HasSubstr("<td class=\"verdict yes\">✓ same</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"verdict no\">✗ differs</td>"));
  EXPECT_THAT(page, HasSubstr("<td>same</td>"));
}

TEST(ReportHtmlDeathTest, RejectsARaggedTable) {
  EXPECT_DEATH(PageOf({Table{{"a", "b"}, {{"1"}}}}), "1 vs. 2");
}

TEST(ReportMarkdownTest, HasTextAndTables) {
  EXPECT_EQ(
      ReportMarkdown(
          {.title = "Widths",
           .summary = "Which one?",
           .sections = {{"Results", {"Means.", Table{{"a|b"}, {{"1\n2"}}}}},
                        {"Curves", {"A note.", Plot()}},
                        {"Config", {CollapsibleBlock{"Show", "seed: 1"}}},
                        {"", {Heading{"Notes"}, "None."}}}}),
      "# Widths\n\nWhich one?\n\n## Results\n\nMeans.\n\n| a\\|b |\n| --- |\n"
      "| 1 2 |\n\n### Notes\n\nNone.\n");
}

}  // namespace
}  // namespace regard
