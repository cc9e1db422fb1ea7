#include "experiments/comparison/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"
#include "experiments/ablation/comparison.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/status.h"
#include "nlohmann/json.hpp"
#include "options/resolved.h"

namespace regard {
namespace {

// Does not truncate cells, because names of runs are paths.
std::string TextTable(const Table& table) {
  return TableText(table, std::numeric_limits<int>::max(), "  ");
}

std::string Listing(absl::string_view title, const Table& table,
                    absl::string_view without) {
  return absl::StrCat(title, table.rows.empty() ? without : ":\n",
                      TextTable(table));
}

std::string Listing(absl::string_view title, const Section& section) {
  std::string text = absl::StrCat(title, ":\n");
  for (const Block& block : section.blocks) {
    const auto* const table = std::get_if<Table>(&block);
    text += table != nullptr ? TextTable(*table)
                             : std::get<std::string>(block) + "\n";
  }
  return text;
}

std::string Arrow(absl::string_view before, absl::string_view after) {
  return absl::StrCat(before, " -> ", after);
}

// Returns a line that shows the change, or "" if the texts are equal.
std::string Change(absl::string_view what, absl::string_view before,
                   absl::string_view after) {
  if (before == after) return "";
  return absl::StrCat(what, ": ", Arrow(before, after), "\n");
}

std::optional<double> MetricOf(const ComparedRun& run,
                               const std::string& name) {
  const auto metric = run.status.metrics.find(name);
  if (metric == run.status.metrics.end()) return std::nullopt;
  return metric->second;
}

std::string MetricText(std::optional<double> metric) {
  return metric.has_value() ? absl::StrFormat("%.6g", *metric) : "missing";
}

// Returns "1 -> 2  (+1, +100.00 %)". Omits the relative change if it is
// undefined.
std::string Change(std::optional<double> before, std::optional<double> after) {
  std::string text = Arrow(MetricText(before), MetricText(after));
  const double change = after.value_or(NAN) - before.value_or(NAN);
  if (!std::isfinite(change)) return text;
  absl::StrAppendFormat(&text, "  (%+.4g", change);
  if (*before != 0) {
    absl::StrAppendFormat(&text, ", %+.2f %%",
                          100 * change / std::abs(*before));
  }
  return text + ")";
}

std::string WeightsText(const std::string& before, const std::string& after) {
  if (before.empty() || after.empty()) return "unknown";
  return before == after ? "bit-identical" : "differ";
}

std::string SeedOf(const ComparedRun& run) {
  for (const ResolvedField& field : run.config) {
    if (field.path == "seed") return field.value;
  }
  return "";
}

bool DifferInSeedAlone(const ComparedRun& a, const ComparedRun& b) {
  const auto differences = DiffResolvedFields(a.config, b.config);
  return SeedOf(a) != SeedOf(b) &&
         std::all_of(differences.begin(), differences.end(),
                     [](const FieldDifference& difference) {
                       return difference.path == "seed" ||
                              IsAnnotation(difference.path);
                     });
}

// Returns the labels of the runs that are not compared. A baseline run needs a
// run of another value with the same seed. Any other run needs a baseline run
// with the same seed.
std::vector<std::string> RunsWithoutPartner(const ResultGrid& grid) {
  const auto is_baseline = [&grid](const ComparedRun& run) {
    return run.coordinates[0] == grid.axes[0].baseline;
  };
  std::vector<std::string> labels;
  for (const ComparedRun& run : grid.runs) {
    const bool has_partner = std::any_of(
        grid.runs.begin(), grid.runs.end(), [&](const ComparedRun& other) {
          return other.seed == run.seed &&
                 is_baseline(other) != is_baseline(run);
        });
    if (!has_partner) labels.push_back(run.label);
  }
  return labels;
}

// Returns a table with one row for each run and one column for each metric that
// has values per example.
Table IntervalsTable(const ResultGrid& grid) {
  // Uses the same seed for all runs, so that runs with equal examples are
  // resampled equally.
  constexpr uint64_t kSeed = 0;
  std::map<std::string, std::map<const ComparedRun*, std::string>> cells;
  for (const ComparedRun& run : grid.runs) {
    for (const auto& [name, interval] : BootstrapConfidence(run.sets, kSeed)) {
      const std::optional<double> value = MetricOf(run, name);
      if (!value.has_value()) continue;
      cells[name][&run] = absl::StrCat(FormatMetric(*value), " (",
                                       ConfidenceText(interval), ")");
    }
  }
  Table table = {{"run", "seed"}};
  for (const ComparedRun& run : grid.runs) {
    table.rows.push_back({run.label, run.seed});
  }
  for (auto& [name, of_runs] : cells) {
    table.header.push_back(name);
    for (size_t i = 0; i < grid.runs.size(); ++i) {
      const std::string& cell = of_runs[&grid.runs[i]];
      table.rows[i].push_back(cell.empty() ? "-" : cell);
    }
  }
  return table;
}

}  // namespace

std::string RunComparisonText(const ComparedRun& before,
                              const ComparedRun& after) {
  Table fields;
  for (const FieldDifference& difference :
       DiffResolvedFields(before.config, after.config)) {
    fields.rows.push_back(
        {difference.path, Arrow(difference.before, difference.after)});
  }
  std::map<std::string, double> metrics = before.status.metrics;
  metrics.insert(after.status.metrics.begin(), after.status.metrics.end());
  Table moved;
  Table same;
  for (const auto& [name, value] : metrics) {
    const std::optional<double> ours = MetricOf(before, name);
    const std::optional<double> theirs = MetricOf(after, name);
    if (ours == theirs) {
      same.rows.push_back({name, MetricText(ours)});
    } else {
      moved.rows.push_back({name, Change(ours, theirs)});
    }
  }
  return absl::StrCat(
      Listing("config", fields, ": no field differs\n"),
      Change("state", StateName(before.status.state),
             StateName(after.status.state)),
      Change("step", absl::StrCat(before.status.step),
             absl::StrCat(after.status.step)),
      Listing("metrics that differ", moved, ": none\n"),
      same.rows.empty() ? "" : Listing("metrics that are equal", same, ""),
      "weights: ",
      WeightsText(before.status.weights_digest, after.status.weights_digest),
      "\n");
}

std::string StatesText(absl::Span<const ComparedRun> runs) {
  Table table = {{"run", "state", "step"}};
  std::vector<std::string> unfinished;
  for (const ComparedRun& run : runs) {
    table.rows.push_back({run.label, std::string(StateName(run.status.state)),
                          absl::StrCat(run.status.step)});
    if (!UnfinishedText(run.status).empty()) unfinished.push_back(run.label);
  }
  if (runs.size() <= 2 && unfinished.empty()) return "";
  std::string text = Listing("runs", table, "");
  if (!unfinished.empty()) {
    absl::StrAppend(&text, "not compared because they have not finished: ",
                    absl::StrJoin(unfinished, ", "), "\n");
  }
  return text;
}

ResultGrid GridOfRuns(absl::Span<const ComparedRun> runs) {
  std::vector<std::vector<const ComparedRun*>> values;
  for (const ComparedRun& run : runs) {
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) {
          return std::all_of(value.begin(), value.end(),
                             [&](const ComparedRun* other) {
                               return DifferInSeedAlone(*other, run);
                             });
        });
    if (found == values.end()) {
      values.push_back({&run});
    } else {
      found->push_back(&run);
    }
  }
  // If all runs differ only in their seeds, compares each run with the first.
  if (values.size() == 1) {
    values.clear();
    for (const ComparedRun& run : runs) values.push_back({&run});
  }
  ResultGrid grid = {.axes = {{.name = "run"}}};
  for (const std::vector<const ComparedRun*>& value : values) {
    for (const ComparedRun* run : value) {
      const RunState state = run->status.state;
      if (state == RunState::kRunning || state == RunState::kInterrupted) {
        continue;
      }
      ComparedRun& added = grid.runs.emplace_back(*run);
      added.coordinates = {grid.axes[0].values.size()};
      added.seed = values.size() == runs.size() ? "" : SeedOf(*run);
      added.sets = FinalSets(std::move(added.sets));
      added.missing = UnfinishedText(run->status);
      if (added.missing.empty()) continue;
      added.status.metrics.clear();
      added.sets.clear();
    }
    grid.axes[0].values.push_back({value.front()->label});
  }
  return grid;
}

std::string SignificanceText(const ResultGrid& grid) {
  const Table intervals = IntervalsTable(grid);
  if (intervals.header.size() == 2) {
    return "examples: no finished run has recorded its examples\n";
  }
  const std::vector<Comparison> comparisons = CompareWithBaselines(grid);
  const auto any = [&](auto what) {
    return std::any_of(comparisons.begin(), comparisons.end(), what);
  };
  std::string text = Listing("examples (mean [95 % interval])", intervals, "");
  const std::vector<std::string> alone = RunsWithoutPartner(grid);
  if (!alone.empty()) {
    absl::StrAppend(&text,
                    "not compared because no baseline run has the same seed: ",
                    absl::StrJoin(alone, ", "), "\n");
  }
  if (any([](const Comparison& c) { return c.over_examples.has_value(); })) {
    text += Listing("over examples", ExamplesSection(grid, comparisons));
  } else if (alone.size() < grid.runs.size()) {
    text +=
        "over examples: not compared because the runs were evaluated on "
        "different examples\n";
  }
  if (any([](const Comparison& c) { return c.differences.n > 1; })) {
    text += Listing("over seeds", SeedsSection(grid, comparisons));
  }
  return text;
}

nlohmann::ordered_json ComparisonJson(absl::Span<const ComparedRun> runs) {
  using Json = nlohmann::ordered_json;
  const ResultGrid grid = GridOfRuns(runs);
  Json json = {{"runs", Json::array()}};
  for (const ComparedRun& run : runs) {
    Json& entry = json["runs"].emplace_back();
    entry = {{"run", run.label},
             {"state", StateName(run.status.state)},
             {"step", run.status.step},
             {"metrics", run.status.metrics},
             {"weights_digest", run.status.weights_digest}};
    for (const auto& [name, interval] :
         BootstrapConfidence(FinalSets(run.sets), /*seed=*/0)) {
      entry["confidence"][name] = {{"mean", interval.mean},
                                   {"half_width", interval.half_width},
                                   {"low", interval.low},
                                   {"high", interval.high}};
    }
  }
  if (runs.size() == 2) {
    json["config"] = Json::array();
    for (const FieldDifference& difference :
         DiffResolvedFields(runs[0].config, runs[1].config)) {
      json["config"].push_back({{"path", difference.path},
                                {"before", difference.before},
                                {"after", difference.after}});
    }
  }
  json["comparisons"] = Json::array();
  for (const Comparison& comparison : CompareWithBaselines(grid)) {
    Json& entry = json["comparisons"].emplace_back();
    const std::vector<AxisValue>& values = grid.axes[0].values;
    entry = {{"metric", comparison.metric},
             {"run", values[comparison.value].label},
             {"baseline", values[grid.axes[0].baseline].label},
             {"seeds", comparison.differences.n},
             {"missing_pairs", comparison.missing_pairs},
             {"difference", comparison.differences.mean},
             {"p_over_seeds", comparison.p_value},
             {"corrected_p_over_seeds", comparison.corrected_p_value}};
    if (!comparison.over_examples.has_value()) continue;
    const ComparisonOverExamples& over = *comparison.over_examples;
    entry["over_examples"] = {{"examples", over.examples},
                              {"difference", over.tests.difference},
                              {"half_width", over.tests.resampled.half_width},
                              {"low", over.tests.resampled.low},
                              {"high", over.tests.resampled.high},
                              {"bootstrap_p", over.tests.bootstrap_p},
                              {"randomization_p", over.tests.randomization_p},
                              {"corrected_p", over.corrected_p_value}};
  }
  return json;
}

}  // namespace regard
