#include "experiments/ablation/ablation_report.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/markdown_table.h"
#include "experiments/ablation/report_tables.h"
#include "experiments/ablation/side_by_side.h"
#include "experiments/report/html_report.h"
#include "experiments/report/run_results.h"

namespace regard {
namespace {

std::string MarkdownParagraphs(const std::vector<std::string>& paragraphs) {
  std::string text;
  for (const std::string& paragraph : paragraphs) {
    absl::StrAppend(&text, paragraph, "\n\n");
  }
  return text;
}

std::string CsvCell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  return absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
}

std::string CsvRow(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(CsvCell(cell));
  return absl::StrCat(absl::StrJoin(quoted, ","), "\n");
}

// Whose maps these are, and whose are not there.
std::string SideBySideNote(const SharedSource& source) {
  std::string note = absl::StrCat(
      "One run of each cell, of seed ", source.seed,
      "; rows are what that run wrote, or its queries. Attention differs from "
      "seed to seed, too.");
  if (!source.without.empty()) {
    absl::StrAppend(&note, " Without weights for this source: ",
                    absl::StrJoin(source.without, "; "), ".");
  }
  if (!source.left_out.empty()) {
    absl::StrAppend(&note, " Left out, to keep the page small: ",
                    absl::StrJoin(source.left_out, "; "), ".");
  }
  return note;
}

// The fields of the first run that has any.
std::string ConfigText(const Grid& grid) {
  std::string text;
  for (const GridRun& run : grid.runs) {
    if (run.config.empty()) continue;
    for (const ResolvedField& field : run.config) {
      if (field.value == "{...}") continue;
      absl::StrAppend(&text, field.path, ": ", field.value, "\n");
    }
    break;
  }
  return text;
}

}  // namespace

std::string AblationMarkdown(const Grid& grid) {
  std::string text = absl::StrCat("# ", grid.name, "\n\n");
  if (!grid.question.empty()) absl::StrAppend(&text, grid.question, "\n\n");
  absl::StrAppend(&text, "`", grid.label, "`: ", GridSummary(grid), "\n\n");
  for (const std::string& warning : ConfoundedComparisons(grid)) {
    absl::StrAppend(&text, "**Warning:** ", warning, "\n\n");
  }
  absl::StrAppend(&text, "## Results\n\nMean ± standard deviation over n runs.",
                  "\n\n", MarkdownTable(ResultsTable(grid)), "\n");
  const Table missing = MissingTable(grid);
  if (!missing.rows.empty()) {
    absl::StrAppend(&text, "## Missing runs\n\n", MarkdownTable(missing), "\n");
  }
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  if (!comparisons.empty()) {
    absl::StrAppend(&text, "## Comparisons\n\n",
                    MarkdownTable(ComparisonsTable(grid, comparisons)), "\n",
                    MarkdownParagraphs(ComparisonNotes(comparisons)));
  }
  const Table labels = LabelsTable(grid);
  if (!labels.rows.empty()) {
    absl::StrAppend(&text, "## What the labels set\n\n", MarkdownTable(labels),
                    "\n");
  }
  text.pop_back();  // the empty line at the end
  return text;
}

std::string AblationCsv(const Grid& grid) {
  const Table table = RunsTable(grid);
  std::string text = CsvRow(table.header);
  for (const std::vector<std::string>& row : table.rows) text += CsvRow(row);
  return text;
}

std::string AblationHtml(const Grid& grid) {
  HtmlReport report(grid.name, grid.question);
  report.AddText("Grid", {absl::StrCat(grid.label, ": ", GridSummary(grid))});
  const std::vector<std::string> warnings = ConfoundedComparisons(grid);
  if (!warnings.empty()) report.AddText("Warnings", warnings);
  report.AddTable("Results: mean ± standard deviation over n runs",
                  ResultsTable(grid));
  const Table missing = MissingTable(grid);
  if (!missing.rows.empty()) report.AddTable("Missing runs", missing);
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  if (!comparisons.empty()) {
    report.AddTable("Comparisons", ComparisonsTable(grid, comparisons));
    report.AddText("How the comparisons were made",
                   ComparisonNotes(comparisons));
  }
  report.AddPlots("Curves: mean and band of one standard deviation",
                  CurvePlots(grid));
  for (const SharedSource& source : AttentionSideBySide(grid)) {
    report.AddSideBySide(absl::StrCat("Side by side: ", source.source),
                         SideBySideNote(source), source.maps);
  }
  const Table labels = LabelsTable(grid);
  if (!labels.rows.empty()) report.AddTable("What the labels set", labels);
  report.AddConfig("Config of the first run", ConfigText(grid));
  return report.Build();
}

}  // namespace regard
