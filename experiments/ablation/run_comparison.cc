#include "experiments/ablation/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/report_tables.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/run_description.h"
#include "experiments/run/statistics.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// With whole cells: the names of runs are paths.
std::string TextTable(const Table& table) {
  return TableText(table, std::numeric_limits<int>::max(), "  ");
}

using Rows = std::vector<std::vector<std::string>>;

std::string Listing(const std::string& title, const Rows& rows) {
  if (rows.empty()) return absl::StrCat(title, ": none\n");
  return absl::StrCat(title, ":\n", TextTable({.rows = rows}));
}

std::string Arrow(const std::string& before, const std::string& after) {
  return absl::StrCat(before, " -> ", after);
}

std::optional<double> MetricOf(const StoredRun& run, const std::string& name) {
  const auto metric = run.status.metrics.find(name);
  if (metric == run.status.metrics.end()) return std::nullopt;
  return metric->second;
}

std::string MetricText(std::optional<double> metric) {
  return metric.has_value() ? absl::StrFormat("%.6g", *metric) : "missing";
}

// " (+0.5, +12.5 %)"; empty where there is no such number.
std::string Change(std::optional<double> before, std::optional<double> after) {
  if (!before.has_value() || !after.has_value()) return "";
  const double change = *after - *before;
  if (!std::isfinite(change)) return "";
  if (*before == 0) return absl::StrFormat("  (%+.4g)", change);
  return absl::StrFormat("  (%+.4g, %+.2f %%)", change,
                         100 * change / std::abs(*before));
}

std::string WeightsText(const std::string& before, const std::string& after) {
  if (before.empty() || after.empty()) return "not known";
  return before == after ? "the same bits" : "differ";
}

}  // namespace

absl::StatusOr<StoredRun> ReadStoredRun(const std::string& folder,
                                        const Aggregates& aggregates) {
  StoredRun run;
  run.name = folder;
  REGARD_ASSIGN_OR_RETURN(run.metrics, ReadRunDescription(folder));
  const std::string path = JoinPath(folder, "resolved.textproto");
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<std::vector<ResolvedField>> config = ParseResolvedFields(text);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", config.status().message()));
  }
  run.config = *std::move(config);
  REGARD_ASSIGN_OR_RETURN(run.status,
                          ReadStatus(JoinPath(folder, "status.json")));
  const std::string examples = JoinPath(folder, "examples.jsonl");
  if (PathExists(examples)) {
    REGARD_ASSIGN_OR_RETURN(std::vector<EvaluatedSet> sets,
                            ReadExamples(examples, aggregates));
    run.sets = FinalSets(std::move(sets));
  }
  return run;
}

std::string RunComparisonText(const StoredRun& before, const StoredRun& after) {
  Rows fields;
  for (const FieldDifference& difference :
       DiffResolvedFields(before.config, after.config)) {
    fields.push_back(
        {difference.path, Arrow(difference.before, difference.after)});
  }
  std::set<std::string> names;
  for (const StoredRun* run : {&before, &after}) {
    for (const auto& [name, value] : run->status.metrics) names.insert(name);
  }
  Rows moved;
  Rows same;
  for (const std::string& name : names) {
    const std::optional<double> ours = MetricOf(before, name);
    const std::optional<double> theirs = MetricOf(after, name);
    if (ours == theirs) {
      same.push_back({name, MetricText(ours)});
    } else {
      moved.push_back(
          {name, absl::StrCat(Arrow(MetricText(ours), MetricText(theirs)),
                              Change(ours, theirs))});
    }
  }
  std::string text =
      fields.empty() ? "config: no field differs\n" : Listing("config", fields);
  if (before.status.state != after.status.state) {
    absl::StrAppend(&text, "state: ",
                    Arrow(std::string(StateName(before.status.state)),
                          std::string(StateName(after.status.state))),
                    "\n");
  }
  if (before.status.step != after.status.step) {
    absl::StrAppend(&text, "step: ",
                    Arrow(absl::StrCat(before.status.step),
                          absl::StrCat(after.status.step)),
                    "\n");
  }
  absl::StrAppend(&text, Listing("metrics that moved", moved));
  if (!same.empty()) text += Listing("metrics that are equal", same);
  return absl::StrCat(
      text, "weights: ",
      WeightsText(before.status.weights_digest, after.status.weights_digest),
      "\n");
}

namespace {

std::string SeedOf(const StoredRun& run) {
  for (const ResolvedField& field : run.config) {
    if (field.path == "seed") return field.value;
  }
  return "";
}

bool DifferInSeedAlone(const StoredRun& a, const StoredRun& b) {
  for (const FieldDifference& difference :
       DiffResolvedFields(a.config, b.config)) {
    if (difference.path != "seed" && difference.path != "name") return false;
  }
  return SeedOf(a) != SeedOf(b);
}

// A row for each run; a column for each metric of examples.
Table IntervalsTable(const Grid& grid) {
  // One seed for all: equal examples then have equal draws.
  constexpr uint64_t kSeed = 0;
  Table table = {.header = {"run", "seed"}};
  std::vector<std::map<std::string, std::string>> cells;
  std::set<std::string> names;
  for (const GridRun& run : grid.runs) {
    std::map<std::string, std::string>& row = cells.emplace_back();
    for (const auto& [name, interval] : BootstrapConfidence(run.sets, kSeed)) {
      const auto value = run.metrics.find(name);
      if (value == run.metrics.end()) continue;
      row[name] = absl::StrCat(FormatMetric(value->second), " (",
                               ConfidenceText(interval), ")");
      names.insert(name);
    }
  }
  table.header.insert(table.header.end(), names.begin(), names.end());
  for (size_t i = 0; i < grid.runs.size(); ++i) {
    std::vector<std::string> row = {grid.runs[i].label, grid.runs[i].seed};
    for (const std::string& name : names) {
      const auto cell = cells[i].find(name);
      row.push_back(cell == cells[i].end() ? "-" : cell->second);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Grid GridOfRuns(absl::Span<const StoredRun> runs) {
  Grid grid;
  std::vector<std::vector<const StoredRun*>> values;
  for (const StoredRun& run : runs) {
    const auto like_run = [&](const std::vector<const StoredRun*>& value) {
      return std::all_of(value.begin(), value.end(),
                         [&](const StoredRun* other) {
                           return DifferInSeedAlone(*other, run);
                         });
    };
    const auto found = std::find_if(values.begin(), values.end(), like_run);
    if (found == values.end()) {
      values.push_back({&run});
    } else {
      found->push_back(&run);
    }
  }
  // Then the seeds are what there is to compare.
  if (values.size() == 1) {
    values.clear();
    for (const StoredRun& run : runs) values.push_back({&run});
  }
  const bool single = values.size() == runs.size();
  Axis axis = {.name = "run"};
  for (const std::vector<const StoredRun*>& value : values) {
    for (const StoredRun* run : value) {
      GridRun& added = grid.runs.emplace_back();
      added.label = run->name;
      added.coordinates = {axis.values.size()};
      added.seed = single ? "" : SeedOf(*run);
      added.metrics = run->status.metrics;
      added.config = run->config;
      added.sets = run->sets;
      grid.metric_infos = run->metrics;
    }
    axis.values.push_back({value.front()->name});
  }
  grid.axes = {axis};
  return grid;
}

std::string SignificanceText(const Grid& grid) {
  const Table intervals = IntervalsTable(grid);
  if (intervals.header.size() == 2) {
    return "examples: no run tells of its examples\n";
  }
  std::string text = absl::StrCat("examples (mean ± half width of 95 %):\n",
                                  TextTable(intervals));
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  const Table examples = ExamplesTable(grid, comparisons);
  if (examples.rows.empty()) {
    absl::StrAppend(&text,
                    "over examples: the runs were not measured on the same "
                    "ones\n");
  } else {
    absl::StrAppend(&text, "over examples:\n", TextTable(examples));
    for (const std::string& note : ExamplesNotes(comparisons)) {
      absl::StrAppend(&text, note, "\n");
    }
  }
  const bool seeds =
      std::any_of(comparisons.begin(), comparisons.end(),
                  [](const Comparison& c) { return c.differences.n > 1; });
  if (!seeds) return text;
  absl::StrAppend(&text, "over seeds:\n",
                  TextTable(ComparisonsTable(grid, comparisons)));
  for (const std::string& note : ComparisonNotes(comparisons)) {
    absl::StrAppend(&text, note, "\n");
  }
  return text;
}

}  // namespace regard
