#include "experiments/ablation/ablation_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/result_picture.h"
#include "experiments/report/figure.h"
#include "experiments/run/metrics_log.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

constexpr size_t kMaxSources = 2;
// Maximum number of squares in the maps of a section. This many squares take
// about 3 MB of the page.
constexpr size_t kMaxSquares = 50'000;

// The runs with equal coordinates.
using GridCell = std::vector<const ComparedRun*>;

// The label of the folded tables below the primary metric.
constexpr char kOtherMetrics[] = "Other metrics";

// Returns the cells in the order of their first runs.
std::vector<GridCell> CellsOf(const ResultGrid& grid) {
  std::vector<GridCell> cells;
  std::map<std::vector<size_t>, size_t> index;
  for (const ComparedRun& run : grid.runs) {
    const auto place = index.emplace(run.coordinates, cells.size()).first;
    cells.resize(index.size());
    cells[place->second].push_back(&run);
  }
  return cells;
}

// Returns a summary such as "This report on //lab:scores covers 12 cells with 5
// seeds each. 2 of 60 runs are missing."
std::string GridSummary(const ResultGrid& grid) {
  std::set<std::string> seeds;
  size_t missing = 0;
  for (const ComparedRun& run : grid.runs) {
    seeds.insert(run.seed);
    if (!run.missing.empty()) ++missing;
  }
  return absl::StrCat(
      "This report on ", grid.label, " covers ",
      Pluralize(CellsOf(grid).size(), "cell"), " with ",
      Pluralize(seeds.size(), "seed"), " each. ",
      missing == 0 ? absl::StrCat("All ", grid.runs.size(), " runs finished")
                   : absl::StrCat(missing, " of ", grid.runs.size(), " runs ",
                                  missing == 1 ? "is" : "are", " missing"),
      ".");
}

Table TableOfMetrics(const ResultGrid& grid,
                     const std::vector<std::string>& columns,
                     const auto& metrics) {
  Table table;
  for (const Axis& axis : grid.axes) table.header.push_back(axis.name);
  std::vector<std::string>& header = table.header;
  header.insert(header.end(), columns.begin(), columns.end());
  header.insert(header.end(), metrics.begin(), metrics.end());
  return table;
}

std::vector<std::string> LabelsOf(const ResultGrid& grid,
                                  const ComparedRun& run) {
  std::vector<std::string> labels;
  for (size_t a = 0; a < grid.axes.size(); ++a) {
    labels.push_back(grid.axes[a].values[run.coordinates[a]].label);
  }
  return labels;
}

// Returns a table with one row for each cell. A row has the values, the numbers
// of finished and of all runs, and the mean and standard deviation of each
// metric.
Table ResultsTable(const ResultGrid& grid,
                   const std::vector<std::string>& metrics) {
  Table table = TableOfMetrics(grid, {"n"}, metrics);
  for (const GridCell& cell : CellsOf(grid)) {
    std::vector<std::string> row = LabelsOf(grid, *cell[0]);
    const size_t finished = std::ranges::count_if(
        cell, [](const ComparedRun* run) { return run->missing.empty(); });
    row.push_back(finished == cell.size()
                      ? absl::StrCat(finished)
                      : absl::StrCat(finished, " of ", cell.size()));
    for (const std::string& metric : metrics) {
      std::vector<double> values;
      for (const ComparedRun* run : cell) {
        const auto found = run->status.metrics.find(metric);
        if (found != run->status.metrics.end()) values.push_back(found->second);
      }
      const SampleSummary summary = Summarize(values);
      // Shows the standard deviation instead of an interval, because the mean
      // plus one standard deviation may be outside the range of the metric.
      row.push_back(
          summary.n == 0 ? "missing"
          : summary.n == 1
              ? SampleText(summary)
              : absl::StrCat(
                    SampleText(summary), " [",
                    FormatMetric(*std::ranges::min_element(values)), ", ",
                    FormatMetric(*std::ranges::max_element(values)), "]"));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table MissingTable(const ResultGrid& grid) {
  Table table = {{"run", "seed", "reason"}};
  for (const ComparedRun& run : grid.runs) {
    if (run.missing.empty()) continue;
    table.rows.push_back({CellName(grid, run), run.seed, run.missing});
  }
  return table;
}

// Returns a table with one row for each value whose label does not show its
// override. Such a value has several overrides, or none, or a label of its own.
Table LabelsTable(const ResultGrid& grid) {
  Table table = {{"axis", "label", "overrides"}};
  for (const Axis& axis : grid.axes) {
    for (const auto& [label, overrides] : axis.values) {
      const std::string sets = absl::StrJoin(overrides, ", ");
      if (sets == absl::StrCat(axis.name, "=", label)) continue;
      table.rows.push_back({axis.name, label, sets.empty() ? "none" : sets});
    }
  }
  return table;
}

// Whether all runs that have a config set `field` to the same value.
bool IsShared(const ResultGrid& grid, const ResolvedField& field) {
  return std::ranges::all_of(grid.runs, [&](const ComparedRun& run) {
    return run.config.empty() ||
           std::ranges::any_of(run.config, [&](const ResolvedField& other) {
             return other.path == field.path && other.value == field.value &&
                    other.origin == field.origin;
           });
  });
}

// Returns a text such as " They also share the data data.path (SHA-256
// 12345678...)." for the data that all runs share, or "" if they share none.
std::string SharedData(const ResultGrid& grid, const ComparedRun& first) {
  std::vector<std::string> parts;
  for (const auto& [name, digest] : first.data) {
    const bool shared =
        std::ranges::all_of(grid.runs, [&](const ComparedRun& run) {
          const auto found = run.data.find(name);
          return run.data.empty() ||
                 (found != run.data.end() && found->second == digest);
        });
    if (!shared) continue;
    parts.push_back(
        absl::StrCat(name, " (SHA-256 ", digest.substr(0, 8), "...)"));
  }
  if (parts.empty()) return "";
  return absl::StrCat(" They also share the data ", absl::StrJoin(parts, ", "),
                      ".");
}

// Returns a text such as " Training took 2.5 hours in total.", or "" if the
// runs have no times.
std::string TrainingTime(const ResultGrid& grid) {
  double seconds = 0;
  for (const ComparedRun& run : grid.runs) {
    if (run.records.empty()) continue;
    seconds += run.records.back().seconds.value_or(0);
  }
  if (seconds == 0) return "";
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  return seconds < 2 * kMinute
             ? absl::StrFormat(" Training took %.2g seconds in total.", seconds)
         : seconds < 2 * kHour
             ? absl::StrFormat(" Training took %.2g minutes in total.",
                               seconds / kMinute)
             : absl::StrFormat(" Training took %.3g hours in total.",
                               seconds / kHour);
}

// Returns a text such as "the configs a.textproto and b.textproto, without
// overrides". At least one of the lists must not be empty.
std::string SharedConfig(const std::vector<std::string>& files,
                         const std::vector<std::string>& overrides) {
  const auto part = [](absl::string_view noun,
                       const std::vector<std::string>& names) {
    return absl::StrCat("the ", noun, names.size() == 1 ? " " : "s ",
                        InAList(names, " and "));
  };
  if (files.empty()) return part("override", overrides);
  const std::string config = part("config", files);
  return overrides.empty()
             ? config + ", without overrides"
             : absl::StrCat(config, ", with ", part("override", overrides));
}

// Returns the size of the grid, and the files, overrides, data and fields that
// all runs share.
std::vector<Block> SharedBlocks(const ResultGrid& grid) {
  const std::string size = absl::StrCat(GridSummary(grid), TrainingTime(grid));
  const auto first = std::ranges::find_if(
      grid.runs, [](const ComparedRun& run) { return !run.config.empty(); });
  if (first == grid.runs.end()) return {size};
  std::vector<std::string> files;
  std::vector<std::string> overrides;
  Table table = {{"field", "value", "set by"}};
  for (const ResolvedField& field : first->config) {
    if (field.value == "{...}" || field.origin.empty() ||
        field.origin == "default" || !IsShared(grid, field)) {
      continue;
    }
    if (field.origin == "--set") {
      overrides.push_back(absl::StrCat(field.path, "=", field.value));
    } else {
      const std::string file = field.origin.substr(0, field.origin.rfind(':'));
      if (std::ranges::find(files, file) == files.end()) files.push_back(file);
    }
    table.rows.push_back({field.path, field.value, field.origin});
  }
  if (table.rows.empty()) return {size};
  return {size,
          absl::StrCat("All runs share ", SharedConfig(files, overrides), ".",
                       SharedData(grid, *first)),
          CollapsibleBlock{"Fields that differ from their defaults",
                           std::move(table)}};
}

// Returns the results for the primary metric. The results for other metrics are
// folded below.
Section ResultsSection(const ResultGrid& grid) {
  std::vector<std::string> metrics = MetricsToShow(grid);
  const std::string primary = PrimaryMetric(grid);
  std::erase(metrics, primary);
  Section section = {"Results",
                     {"The table shows the mean (standard deviation) [lowest, "
                      "highest] over n runs."}};
  section.blocks.emplace_back(ResultsTable(
      grid, primary.empty() ? metrics : std::vector<std::string>{primary}));
  if (!metrics.empty()) {
    section.blocks.emplace_back(
        CollapsibleBlock{.label = kOtherMetrics,
                         .content = ResultsTable(grid, metrics),
                         .in_markdown = true});
  }
  return section;
}

// Returns the fields of the first run that has a config.
std::string FieldsText(const ResultGrid& grid) {
  std::string text;
  for (const ComparedRun& run : grid.runs) {
    if (!text.empty()) break;
    for (const ResolvedField& field : run.config) {
      if (field.value == "{...}") continue;
      absl::StrAppend(&text, field.path, ": ", field.value, "\n");
    }
  }
  return text;
}

std::string CsvRow(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted = cells;
  for (std::string& cell : quoted) {
    if (cell.find_first_of(",\"\r\n") == std::string::npos) continue;
    cell =
        absl::StrCat("\"", absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
  }
  return absl::StrCat(absl::StrJoin(quoted, ","), "\n");
}

const LabelledMatrix* FindMap(const ComparedRun& run,
                              const std::string& title) {
  const auto found = std::ranges::find(run.maps, title, &LabelledMatrix::title);
  return found == run.maps.end() ? nullptr : &*found;
}

Section SideBySide(const ResultGrid& grid,
                   const std::vector<const ComparedRun*>& runs,
                   const std::string& source) {
  Maps maps = {.side_by_side = true};
  std::vector<std::string> without;
  std::vector<std::string> left_out;
  std::string shown_source;
  size_t squares = 0;
  for (const ComparedRun* run : runs) {
    const std::string cell = CellName(grid, *run);
    const LabelledMatrix* const map = FindMap(*run, source);
    if (map == nullptr) {
      without.push_back(cell);
      continue;
    }
    squares += map->rows.size() * map->columns.size() * map->heads.size();
    if (squares > kMaxSquares) {
      left_out.push_back(cell);
      continue;
    }
    maps.maps.push_back(*map);
    maps.maps.back().title = cell;
    maps.maps.back().site.clear();
    if (shown_source.empty()) shown_source = FullTitle(*map);
  }
  std::string note = absl::StrCat(
      "Each map shows one run of a cell, with seed ", runs[0]->seed,
      ". The rows are the words that the model wrote, or the queries. Maps of "
      "other seeds may look different.");
  if (!without.empty()) {
    absl::StrAppend(&note, " These cells have no weights for this source: ",
                    absl::StrJoin(without, "; "), ".");
  }
  if (!left_out.empty()) {
    absl::StrAppend(&note, " These cells are left out to keep the page small: ",
                    absl::StrJoin(left_out, "; "), ".");
  }
  return {absl::StrCat("Side by side: ",
                       shown_source.empty() ? source : shown_source),
          {AttentionCaution(), note, std::move(maps)}};
}

// Splits a table whose first column is the metric into two tables: the rows of
// the primary metric, and a folded table with all other rows.
std::vector<Block> ByMetric(Table table, const std::string& primary) {
  const auto others = std::ranges::stable_partition(
      table.rows, [&](const auto& row) { return row[0] == primary; });
  Table folded = {table.header, {others.begin(), others.end()}};
  table.rows.erase(others.begin(), others.end());
  if (table.rows.empty()) return {std::move(folded)};
  if (folded.rows.empty()) return {std::move(table)};
  return {std::move(table), CollapsibleBlock{.label = kOtherMetrics,
                                             .content = std::move(folded),
                                             .in_markdown = true}};
}

// Folds the rows of all metrics except the primary one. The rows are in the
// first block of the section.
Section FoldOthers(Section section, const std::string& primary) {
  std::vector<Block> blocks =
      ByMetric(std::get<Table>(std::move(section.blocks[0])), primary);
  blocks.insert(blocks.end(), section.blocks.begin() + 1, section.blocks.end());
  section.blocks = std::move(blocks);
  return section;
}

}  // namespace

Report AblationReport(const ResultGrid& grid) {
  Report report = {.title = grid.name, .summary = grid.question};
  const std::vector<std::string> warnings = ConfoundedComparisons(grid);
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  const std::vector<Plot> plots = CurvePlots(grid);
  Section curves = {"Curves",
                    {"A curve is the mean over the finished runs of a cell. "
                     "Its band reaches from the lowest to the highest run. "
                     "Both end where the shortest of these runs ends."}};
  curves.blocks.insert(curves.blocks.end(), plots.begin(), plots.end());
  report.lead = ResultBlocks(grid, comparisons);
  for (Block& block : SharedBlocks(grid)) {
    report.lead.push_back(std::move(block));
  }
  report.Add({"Warnings", {warnings.begin(), warnings.end()}});
  report.Add(ResultsSection(grid));
  report.Add({"Missing runs", {MissingTable(grid)}});
  report.Add(FoldOthers(SeedsSection(grid, comparisons), PrimaryMetric(grid)));
  report.Add(
      FoldOthers(ExamplesSection(grid, comparisons), PrimaryMetric(grid)));
  if (!plots.empty()) report.Add(std::move(curves));
  for (Section& section : AttentionSideBySide(grid)) {
    report.Add(std::move(section));
  }
  report.Add({"Overrides of the labels", {LabelsTable(grid)}});
  report.Add({"Config of the first run",
              {CollapsibleBlock{"Show", FieldsText(grid)}}});
  return report;
}

std::string AblationCsv(const ResultGrid& grid) {
  const std::set<std::string> metrics = AllMetrics(grid);
  std::string text =
      CsvRow(TableOfMetrics(grid, {"seed", "state"}, metrics).header);
  for (const ComparedRun& run : grid.runs) {
    std::vector<std::string> row = LabelsOf(grid, run);
    row.push_back(run.seed);
    row.push_back(run.missing.empty() ? "finished" : "missing");
    for (const std::string& metric : metrics) {
      const auto found = run.status.metrics.find(metric);
      const bool there = found != run.status.metrics.end();
      row.push_back(!there                      ? ""
                    : std::isnan(found->second) ? "nan"
                                                : JsonText(found->second));
    }
    text += CsvRow(row);
  }
  return text;
}

std::vector<Plot> CurvePlots(const ResultGrid& grid) {
  const std::vector<GridCell> cells = CellsOf(grid);
  // Values for all seeds, by metric, cell and step.
  std::map<std::string,
           std::map<size_t, std::map<int64_t, std::vector<double>>>>
      curves;
  std::vector<int64_t> finished(cells.size());
  for (size_t c = 0; c < cells.size(); ++c) {
    for (const ComparedRun* run : cells[c]) {
      if (!run->missing.empty()) continue;
      ++finished[c];
      for (const auto& [metric, curve] : CurvesOf(run->records)) {
        for (const auto& [step, value] : curve) {
          curves[metric][c][step].push_back(value);
        }
      }
    }
  }
  std::vector<Plot> plots;
  for (const auto& [metric, by_cell] : curves) {
    Plot plot = {.title = metric, .x_label = "step", .y_label = metric};
    bool changes = false;
    for (const auto& [c, by_step] : by_cell) {
      Series series = {.name = CellName(grid, *cells[c][0])};
      for (const auto& [step, values] : by_step) {
        // Omits steps that some runs of the cell did not reach, because their
        // mean would be over fewer seeds.
        if (std::ssize(values) < finished[c]) continue;
        const SampleSummary summary = Summarize(values);
        series.xs.push_back(static_cast<double>(step));
        series.ys.push_back(summary.mean);
        series.low.push_back(*std::ranges::min_element(values));
        series.high.push_back(*std::ranges::max_element(values));
      }
      changes = changes || series.xs.size() > 1;
      plot.series.push_back(series);
    }
    if (changes) plots.push_back(plot);
  }
  return plots;
}

std::vector<Section> AttentionSideBySide(const ResultGrid& grid) {
  std::vector<const ComparedRun*> runs;
  const auto first = std::ranges::find_if(
      grid.runs, [](const ComparedRun& run) { return !run.maps.empty(); });
  for (const ComparedRun& run : grid.runs) {
    if (first != grid.runs.end() && run.seed == first->seed) {
      runs.push_back(&run);
    }
  }
  std::vector<std::string> titles;     // titles in order of appearance
  std::map<std::string, int> showing;  // number of runs that show each title
  for (const ComparedRun* run : runs) {
    for (const LabelledMatrix& map : run->maps) {
      // Counts a run only once if several of its maps have the same title.
      if (FindMap(*run, map.title) != &map) continue;
      if (showing[map.title]++ == 0) titles.push_back(map.title);
    }
  }
  std::erase_if(titles, [&](const auto& title) { return showing[title] < 2; });
  std::ranges::stable_sort(titles, std::greater(),
                           [&](const auto& title) { return showing[title]; });
  if (titles.size() > kMaxSources) titles.resize(kMaxSources);
  std::vector<Section> sections;
  for (const std::string& title : titles) {
    sections.push_back(SideBySide(grid, runs, title));
  }
  return sections;
}

}  // namespace regard
