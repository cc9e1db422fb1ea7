#include "experiments/report/report.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "evaluation/statistics.h"
#include "experiments/report/chart_script.h"
#include "experiments/report/figure.h"
#include "experiments/report/forest_plot.h"
#include "experiments/report/page_script.h"
#include "experiments/report/page_style.h"
#include "experiments/report/page_template.h"
#include "experiments/report/terminal_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr absl::string_view kAttentionCaution =
    "Attention weights do not explain a prediction by themselves. A weight "
    "shows how much of a position's vector is mixed into the context. It does "
    "not show that the output depends on this position.";

// A page with more sections has a table of contents.
constexpr size_t kSectionsWithoutContents = 5;

bool IsNumber(absl::string_view text) {
  double value = 0;
  return absl::SimpleAtod(text, &value);
}

// Writes the HTML of blocks, and collects the figures that the script draws.
class HtmlWriter {
 public:
  void operator()(const std::string& paragraph) {
    Append("<p>", EscapeHtml(paragraph), "</p>\n");
  }
  void operator()(const Heading& heading) {
    Append("<h3>", EscapeHtml(heading.text), "</h3>\n");
  }
  void operator()(const AttentionCaution&) {
    Append("<p class=\"caution\">", kAttentionCaution, "</p>\n");
  }
  void operator()(const Table& table) {
    // Right-aligns a column if all of its cells are numbers.
    std::vector<bool> numeric(table.header.size(), !table.rows.empty());
    for (const std::vector<std::string>& row : table.rows) {
      REGARD_CHECK_EQ(row.size(), table.header.size()) << "cells of a row";
      for (size_t c = 0; c < row.size(); ++c) {
        numeric[c] = numeric[c] && IsNumber(row[c]);
      }
    }
    Append("<div class=\"scroll\"><table>\n<thead>");
    AppendRow(table.header, numeric, "th");
    Append("</thead><tbody>\n");
    for (const std::vector<std::string>& row : table.rows) {
      AppendRow(row, numeric, "td");
    }
    Append("</tbody></table></div>\n");
  }
  void operator()(const CollapsibleBlock& folded) {
    Append("<details", folded.open ? " open" : "", "><summary>",
           EscapeHtml(folded.label), "</summary>");
    if (const Table* table = std::get_if<Table>(&folded.content)) {
      (*this)(*table);
    } else {
      Append("<pre>", EscapeHtml(std::get<std::string>(folded.content)),
             "</pre>");
    }
    Append("</details>\n");
  }
  void operator()(const Plot& plot) {
    has_plots_ = true;
    Append(PlotFigure(plot, figures_));
  }
  void operator()(const Maps& maps) {
    Append("<div class=\"maps", maps.side_by_side ? " side" : "", "\">");
    for (const LabelledMatrix& map : maps.maps) {
      Append(HeatMapFigure(map, figures_));
    }
    Append("</div>\n");
  }
  void operator()(const std::vector<WeightedImage>& pictures) {
    Append("<div class=\"maps pictures\">");
    for (const WeightedImage& picture : pictures) {
      Append(WeightedImageFigure(picture));
    }
    Append("</div>\n");
  }
  void operator()(const ForestPlot& plot) { Append(ForestFigure(plot)); }
  void operator()(const ShownMetric& metric) {
    Append("<div class=\"card\"><dt>", EscapeHtml(metric.name),
           "</dt><dd class=\"value\">", FormatMetric(metric.value), "</dd>");
    if (!metric.meaning.empty()) {
      Append("<dd class=\"what\">", EscapeHtml(metric.meaning), "</dd>");
    }
    if (!metric.note.empty()) {
      Append("<dd class=\"note\">", EscapeHtml(metric.note), "</dd>");
    }
    Append("</div>\n");
  }

  template <typename... Parts>
  void Append(const Parts&... parts) {
    absl::StrAppend(&html_, parts...);
  }

  std::string Take() { return std::exchange(html_, ""); }

  // Returns the script elements that draw the figures written so far.
  std::string Scripts() const {
    if (figures_.empty()) return "";
    // Escapes strings, so that none of them can end the script element that
    // contains the JSON.
    return absl::StrCat(
        "<script type=\"application/json\" id=\"figures\">",
        absl::StrReplaceAll(figures_.dump(-1, ' ', /*ensure_ascii=*/true),
                            {{"<", "\\u003c"}}),
        "</script>\n", has_plots_ ? "<script>" : "",
        has_plots_ ? ChartScript() : "", has_plots_ ? "</script>\n" : "",
        "<script>", PageScript(), "</script>\n");
  }

 private:
  void AppendRow(const std::vector<std::string>& row,
                 const std::vector<bool>& numeric, absl::string_view tag) {
    Append("<tr>");
    for (size_t c = 0; c < row.size(); ++c) {
      Append("<", tag,
             numeric[c]                  ? " class=\"n\">"
             : row[c] == kVerdictSame    ? " class=\"verdict yes\">"
             : row[c] == kVerdictDiffers ? " class=\"verdict no\">"
                                         : ">",
             EscapeHtml(row[c]), "</", tag, ">");
    }
    Append("</tr>\n");
  }

  std::string html_;
  nlohmann::ordered_json figures_ = nlohmann::ordered_json::array();
  bool has_plots_ = false;
};

// Writes the Markdown of blocks. Omits blocks that a terminal cannot show.
class MarkdownWriter {
 public:
  void operator()(const std::string& paragraph) {
    absl::StrAppend(&text_, paragraph, "\n\n");
  }
  void operator()(const Heading& heading) {
    absl::StrAppend(&text_, "### ", heading.text, "\n\n");
  }
  void operator()(const Table& table) {
    AppendRow(table.header);
    AppendRow(std::vector<std::string>(table.header.size(), "---"));
    for (const std::vector<std::string>& row : table.rows) AppendRow(row);
    absl::StrAppend(&text_, "\n");
  }
  void operator()(const AttentionCaution&) {}
  void operator()(const CollapsibleBlock& folded) {
    if (!folded.in_markdown) return;
    (*this)(Heading{folded.label});
    if (const Table* table = std::get_if<Table>(&folded.content)) {
      (*this)(*table);
    } else {
      (*this)(std::get<std::string>(folded.content));
    }
  }
  void operator()(const ForestPlot& plot) { (*this)(ForestTable(plot)); }
  template <typename Figure>
  void operator()(const Figure&) {
    has_figure_ = true;
  }

  // Returns the text. Returns "" if there is a figure, because Markdown cannot
  // show the figure that the text describes.
  std::string Text() const { return has_figure_ ? "" : text_; }

 private:
  void AppendRow(const std::vector<std::string>& cells) {
    absl::StrAppend(&text_, "|");
    for (const std::string& cell : cells) {
      absl::StrAppend(&text_, " ",
                      absl::StrReplaceAll(cell, {{"|", "\\|"}, {"\n", " "}}),
                      " |");
    }
    absl::StrAppend(&text_, "\n");
  }

  std::string text_;
  bool has_figure_ = false;
};

}  // namespace

void Report::Add(Section section) {
  for (const Block& block : section.blocks) {
    const auto* const table = std::get_if<Table>(&block);
    const auto* const maps = std::get_if<Maps>(&block);
    if (table != nullptr && table->rows.empty()) return;
    if (maps != nullptr && maps->maps.empty()) return;
  }
  if (!section.blocks.empty()) sections.push_back(std::move(section));
}

std::string ReportHtml(const Report& report) {
  HtmlWriter writer;
  const std::string title = EscapeHtml(report.title);
  if (!report.summary.empty()) {
    writer.Append("<p class=\"summary\">", EscapeHtml(report.summary),
                  "</p>\n");
  }
  const std::string summary = writer.Take();
  writer.Append("<div class=\"top\">");
  if (!report.first_maps.empty()) writer(Maps{report.first_maps});
  if (!report.metrics.empty()) {
    writer.Append("<dl class=\"cards\">");
    for (const ShownMetric& metric : report.metrics) writer(metric);
    writer.Append("</dl>\n");
  }
  writer.Append("</div>\n");
  for (const Block& block : report.lead) std::visit(writer, block);
  if (report.sections.size() > kSectionsWithoutContents) {
    writer.Append("<nav aria-label=\"Contents\"><ol>\n");
    for (size_t s = 0; s < report.sections.size(); ++s) {
      writer.Append("<li><a href=\"#s", s, "\">",
                    EscapeHtml(report.sections[s].title), "</a></li>\n");
    }
    writer.Append("</ol></nav>\n");
  }
  for (size_t s = 0; s < report.sections.size(); ++s) {
    writer.Append("<section id=\"s", s, "\"><h2>",
                  EscapeHtml(report.sections[s].title), "</h2>\n");
    for (const Block& block : report.sections[s].blocks) {
      std::visit(writer, block);
    }
    writer.Append("</section>\n");
  }
  const std::string body = writer.Take();
  return absl::Substitute(PageTemplate(), title, PageStyle(), summary, body,
                          writer.Scripts());
}

std::string ReportMarkdown(const Report& report) {
  std::string text = absl::StrCat("# ", report.title, "\n\n");
  if (!report.summary.empty()) absl::StrAppend(&text, report.summary, "\n\n");
  MarkdownWriter lead;
  for (const Block& block : report.lead) {
    std::visit([&](const auto& part) { lead(part); }, block);
  }
  text += lead.Text();
  for (const Section& section : report.sections) {
    MarkdownWriter writer;
    for (const Block& block : section.blocks) {
      std::visit([&](const auto& part) { writer(part); }, block);
    }
    const std::string blocks = writer.Text();
    if (blocks.empty()) continue;
    if (!section.title.empty()) {
      absl::StrAppend(&text, "## ", section.title, "\n\n");
    }
    text += blocks;
  }
  text.pop_back();  // removes the empty line at the end
  return text;
}

}  // namespace regard
