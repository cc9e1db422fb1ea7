#include "experiments/ablation/ablation_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/report_tables.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"

namespace regard {
namespace {

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
std::string FieldsText(const Grid& grid) {
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

Report AblationReport(const Grid& grid) {
  Report report = {.title = grid.name, .summary = grid.question};
  // Adds a section of a table, if that has rows, between paragraphs.
  const auto add = [&](absl::string_view title, const Table& table,
                       const std::vector<std::string>& before,
                       const std::vector<std::string>& after) {
    if (table.rows.empty()) return;
    Section section = {.title = std::string(title),
                       .blocks = {before.begin(), before.end()}};
    section.blocks.push_back(table);
    section.blocks.insert(section.blocks.end(), after.begin(), after.end());
    report.sections.push_back(std::move(section));
  };
  report.sections.push_back(
      {.title = "Grid",
       .blocks = {absl::StrCat(grid.label, ": ", GridSummary(grid))}});
  const std::vector<std::string> warnings = ConfoundedComparisons(grid);
  if (!warnings.empty()) {
    report.sections.push_back(
        {.title = "Warnings",
         .blocks = std::vector<Block>(warnings.begin(), warnings.end())});
  }
  add("Results", ResultsTable(grid), {"Mean ± standard deviation over n runs."},
      {});
  add("Missing runs", MissingTable(grid), {}, {});
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  add("Comparisons over seeds", ComparisonsTable(grid, comparisons), {},
      ComparisonNotes(comparisons));
  add("Comparisons over examples", ExamplesTable(grid, comparisons), {},
      ExamplesNotes(comparisons));
  Section curves = {.title = "Curves"};
  curves.blocks.push_back(
      "Mean and band of one standard deviation, as far as all finished runs "
      "go.");
  for (const Plot& plot : CurvePlots(grid)) curves.blocks.push_back(plot);
  if (curves.blocks.size() > 1) report.sections.push_back(std::move(curves));
  for (const SharedSource& source : AttentionSideBySide(grid)) {
    report.sections.push_back(
        {.title = absl::StrCat("Side by side: ", source.source),
         .blocks = {AttentionCaution(), SideBySideNote(source),
                    Maps{source.maps, /*side_by_side=*/true}}});
  }
  add("What the labels set", LabelsTable(grid), {}, {});
  report.sections.push_back({.title = "Config of the first run",
                             .blocks = {Folded{"Show", FieldsText(grid)}}});
  return report;
}

std::string AblationCsv(const Grid& grid) {
  const Table table = RunsTable(grid);
  std::string text = CsvRow(table.header);
  for (const std::vector<std::string>& row : table.rows) text += CsvRow(row);
  return text;
}

namespace {

constexpr size_t kMostSources = 2;
// Squares drawn for one source: about 3 MB of page.
constexpr size_t kMostSquares = 50'000;

// The runs of a seed, one for each cell.
std::vector<const GridRun*> RunsToShow(const Grid& grid) {
  std::vector<const GridRun*> runs;
  const GridRun* first = nullptr;
  for (const GridRun& run : grid.runs) {
    if (first == nullptr && !run.maps.empty()) first = &run;
  }
  if (first == nullptr) return runs;
  for (const GridRun& run : grid.runs) {
    if (run.seed == first->seed) runs.push_back(&run);
  }
  return runs;
}

const LabelledMatrix* FindMap(const GridRun& run, const std::string& title) {
  for (const LabelledMatrix& map : run.maps) {
    if (map.title == title) return &map;
  }
  return nullptr;
}

// Titles with the number of runs that have them, in order of appearance.
std::vector<std::pair<std::string, int>> TitlesOf(
    const std::vector<const GridRun*>& runs) {
  std::vector<std::pair<std::string, int>> titles;
  for (const GridRun* run : runs) {
    for (const LabelledMatrix& map : run->maps) {
      // A run may show a source twice.
      if (FindMap(*run, map.title) != &map) continue;
      const auto found = std::find_if(
          titles.begin(), titles.end(),
          [&map](const auto& title) { return title.first == map.title; });
      if (found == titles.end()) {
        titles.emplace_back(map.title, 1);
      } else {
        ++found->second;
      }
    }
  }
  return titles;
}

}  // namespace

std::vector<SharedSource> AttentionSideBySide(const Grid& grid) {
  const std::vector<const GridRun*> runs = RunsToShow(grid);
  std::vector<std::pair<std::string, int>> titles = TitlesOf(runs);
  std::erase_if(titles, [](const auto& title) { return title.second < 2; });
  std::stable_sort(
      titles.begin(), titles.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  if (titles.size() > kMostSources) titles.resize(kMostSources);
  std::vector<SharedSource> sources;
  for (const auto& [title, count] : titles) {
    SharedSource source{.source = title, .seed = runs.front()->seed};
    size_t squares = 0;
    for (const GridRun* run : runs) {
      const std::string cell = CellName(grid, run->coordinates);
      const LabelledMatrix* const map = FindMap(*run, title);
      if (map == nullptr) {
        source.without.push_back(cell);
        continue;
      }
      squares += map->rows.size() * map->columns.size() * map->heads.size();
      if (squares > kMostSquares) {
        source.left_out.push_back(cell);
        continue;
      }
      source.maps.push_back(*map);
      source.maps.back().title = cell;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace regard
