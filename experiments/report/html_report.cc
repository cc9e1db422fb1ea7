#include "experiments/report/html_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/report/chart_script.h"
#include "experiments/report/heat_map.h"
#include "experiments/report/heat_map_script.h"
#include "experiments/report/page_script.h"
#include "experiments/report/page_style.h"
#include "experiments/report/picture.h"
#include "experiments/report/plot.h"
#include "experiments/report/printable_text.h"
#include "experiments/run/metric.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Nothing may be loaded from anywhere; what the page needs is in the page.
constexpr absl::string_view kSecurityPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:";

constexpr absl::string_view kAttentionCaution =
    "<p class=\"caution\">Attention is not by itself an explanation. A weight "
    "says how much of a position's vector was mixed into the context; it does "
    "not say that the output depends on that position.</p>\n";

constexpr absl::string_view kGradientsMeaning =
    "<p>Beside the weights stand gradients: how the log probability of the "
    "word that was chosen changes with each weight, the others held. Above 0, "
    "more weight there would have made the word likelier. The entropy of a "
    "step's weights is in nats: 0 when one word has all of the attention.</p>"
    "\n";

bool IsNumber(absl::string_view text) {
  double value = 0;
  return absl::SimpleAtod(text, &value);
}

std::string Paragraph(absl::string_view text) {
  return absl::StrCat("<p>", EscapeHtml(text), "</p>\n");
}

std::string TableHtml(absl::string_view title, const Table& table) {
  // A column is set as numbers when every cell in it is one.
  std::vector<bool> numeric(table.header.size(), !table.rows.empty());
  for (const std::vector<std::string>& row : table.rows) {
    REGARD_CHECK_EQ(row.size(), table.header.size()) << "table " << title;
    for (size_t c = 0; c < row.size(); ++c) {
      numeric[c] = numeric[c] && IsNumber(row[c]);
    }
  }
  const auto append_row = [&numeric](const std::vector<std::string>& row,
                                     absl::string_view tag, std::string* html) {
    absl::StrAppend(html, "<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(html, "<", tag, numeric[c] ? " class=\"n\">" : ">",
                      EscapeHtml(row[c]), "</", tag, ">");
    }
    absl::StrAppend(html, "</tr>\n");
  };
  std::string html = "<div class=\"scroll\"><table>\n<thead>";
  append_row(table.header, "th", &html);
  absl::StrAppend(&html, "</thead><tbody>\n");
  for (const std::vector<std::string>& row : table.rows) {
    append_row(row, "td", &html);
  }
  absl::StrAppend(&html, "</tbody></table></div>\n");
  return html;
}

// With more sections than these, a page opens with a list of them.
constexpr size_t kSectionsWithoutContents = 5;

}  // namespace

HtmlReport::HtmlReport(absl::string_view title, absl::string_view summary)
    : title_(title), summary_(summary) {}

void HtmlReport::AddSection(absl::string_view title, std::string html) {
  sections_.push_back({std::string(title), std::move(html)});
}

void HtmlReport::AddMetrics(absl::Span<const ShownMetric> metrics) {
  for (const ShownMetric& metric : metrics) {
    absl::StrAppend(&cards_, "<div class=\"card\"><dt>",
                    EscapeHtml(metric.name), "</dt><dd class=\"value\">",
                    FormatMetric(metric.value), "</dd>");
    if (!metric.meaning.empty()) {
      absl::StrAppend(&cards_, "<dd class=\"what\">",
                      EscapeHtml(metric.meaning), "</dd>");
    }
    if (!metric.note.empty()) {
      absl::StrAppend(&cards_, "<dd class=\"note\">", EscapeHtml(metric.note),
                      "</dd>");
    }
    absl::StrAppend(&cards_, "</div>\n");
  }
}

void HtmlReport::AddText(absl::string_view title,
                         absl::Span<const std::string> paragraphs) {
  std::string html;
  for (const std::string& paragraph : paragraphs) {
    absl::StrAppend(&html, Paragraph(paragraph));
  }
  AddSection(title, std::move(html));
}

void HtmlReport::AddTable(absl::string_view title, const Table& table) {
  AddSection(title, TableHtml(title, table));
}

void HtmlReport::AddPlots(absl::string_view title,
                          absl::Span<const Plot> plots) {
  std::string html;
  for (const Plot& plot : plots) absl::StrAppend(&html, PlotFigure(plot));
  has_plots_ = has_plots_ || !plots.empty();
  AddSection(title, std::move(html));
}

void HtmlReport::AddHeatMaps(absl::string_view title,
                             absl::Span<const LabelledMatrix> maps) {
  AddSection(title, absl::StrCat(kAttentionCaution, HeatMaps(maps, "maps")));
}

void HtmlReport::AddSideBySide(absl::string_view title, absl::string_view note,
                               absl::Span<const LabelledMatrix> maps) {
  AddSection(title, absl::StrCat(kAttentionCaution, Paragraph(note),
                                 HeatMaps(maps, "maps side")));
}

std::string HtmlReport::HeatMaps(absl::Span<const LabelledMatrix> maps,
                                 absl::string_view css_class) {
  std::string html = absl::StrCat("<div class=\"", css_class, "\">");
  for (const LabelledMatrix& map : maps) {
    absl::StrAppend(&html, HeatMapFigure(map, absl::StrCat("map", figures_)));
    ++figures_;
  }
  absl::StrAppend(&html, "</div>\n");
  return html;
}

void HtmlReport::AddExplanations(absl::string_view title,
                                 absl::Span<const Explanation> explanations) {
  std::string html = absl::StrCat(kAttentionCaution, kGradientsMeaning);
  for (size_t i = 0; i < explanations.size(); ++i) {
    const Explanation& explanation = explanations[i];
    absl::StrAppend(&html, "<h3>", EscapeHtml(explanation.title), "</h3>\n",
                    Paragraph(explanation.summary),
                    HeatMaps(explanation.maps, "maps"),
                    "<details class=\"steps\"", i == 0 ? " open" : "",
                    "><summary>Each step</summary>",
                    TableHtml(title, explanation.steps), "</details>\n");
  }
  AddSection(title, std::move(html));
}

void HtmlReport::AddMatrix(const LabelledMatrix& matrix) {
  AddSection(matrix.title, HeatMaps({&matrix, 1}, "maps"));
}

void HtmlReport::AddGallery(const Gallery& gallery) {
  const bool weighted =
      std::any_of(gallery.pictures.begin(), gallery.pictures.end(),
                  [](const Picture& picture) { return picture.rows > 0; });
  std::string html(weighted ? kAttentionCaution : "");
  if (!gallery.note.empty()) absl::StrAppend(&html, Paragraph(gallery.note));
  absl::StrAppend(&html, "<div class=\"maps pictures\">");
  for (const Picture& picture : gallery.pictures) {
    absl::StrAppend(&html, PictureFigure(picture));
  }
  absl::StrAppend(&html, "</div>\n");
  AddSection(gallery.title, std::move(html));
}

void HtmlReport::AddSamples(const Samples& samples) {
  const bool any_reference = std::any_of(
      samples.rows.begin(), samples.rows.end(),
      [](const Sample& sample) { return !sample.reference.empty(); });
  std::string html =
      absl::StrCat("<div class=\"scroll\"><table>\n<thead><tr><th>",
                   EscapeHtml(samples.input), "</th><th>model</th>",
                   any_reference ? "<th>reference</th><th></th>" : "",
                   "</tr></thead><tbody>\n");
  for (const Sample& sample : samples.rows) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(sample.input), "</td><td>",
                    EscapeHtml(sample.output), "</td>");
    if (any_reference) {
      absl::StrAppend(&html, "<td>", EscapeHtml(sample.reference), "</td>",
                      sample.reference.empty() ? "<td></td>"
                      : sample.correct
                          ? "<td class=\"verdict yes\">✓ same</td>"
                          : "<td class=\"verdict no\">✗ differs</td>");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  absl::StrAppend(&html, "</tbody></table></div>\n");
  AddSection(samples.title, std::move(html));
}

void HtmlReport::AddConfig(absl::string_view title, absl::string_view text) {
  AddSection(title, absl::StrCat("<details><summary>Show</summary><pre>",
                                 EscapeHtml(text), "</pre></details>\n"));
}

std::string HtmlReport::Build() const {
  const std::string title = EscapeHtml(title_);
  std::string page = absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
      kSecurityPolicy,
      "\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      title, "</title>\n<style>\n", PageStyle(), HeatMapStyle(),
      "</style></head>\n<body><main>\n<header><p class=\"eyebrow\">Regard</p>"
      "<h1>",
      title, "</h1>\n");
  if (!summary_.empty()) {
    absl::StrAppend(&page, "<p class=\"summary\">", EscapeHtml(summary_),
                    "</p>\n");
  }
  absl::StrAppend(&page, "</header>\n");
  if (!cards_.empty()) {
    absl::StrAppend(&page, "<dl class=\"cards\">", cards_, "</dl>\n");
  }
  if (sections_.size() > kSectionsWithoutContents) {
    absl::StrAppend(&page, "<nav aria-label=\"Contents\"><ol>\n");
    for (size_t s = 0; s < sections_.size(); ++s) {
      absl::StrAppend(&page, "<li><a href=\"#s", s, "\">",
                      EscapeHtml(sections_[s].title), "</a></li>\n");
    }
    absl::StrAppend(&page, "</ol></nav>\n");
  }
  for (size_t s = 0; s < sections_.size(); ++s) {
    absl::StrAppend(&page, "<section id=\"s", s, "\"><h2>",
                    EscapeHtml(sections_[s].title), "</h2>\n",
                    sections_[s].html, "</section>\n");
  }
  absl::StrAppend(&page,
                  "<footer>One file, no requests: it reads the same with the "
                  "network off.</footer>\n</main>\n");
  if (figures_ > 0) {
    absl::StrAppend(&page, "<script>", HeatMapScript(), "</script>\n");
  }
  if (has_plots_) {
    absl::StrAppend(&page, "<script>", ChartScript(), "</script>\n<script>",
                    PageScript(), "</script>\n");
  }
  absl::StrAppend(&page, "</body></html>\n");
  return page;
}

}  // namespace regard
