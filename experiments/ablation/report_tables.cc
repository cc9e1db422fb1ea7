#include "experiments/ablation/report_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/run/metric.h"
#include "experiments/run/statistics.h"
#include "files/json_text.h"

namespace regard {
namespace {

std::string MeanAndDeviation(const SampleSummary& summary) {
  if (summary.n == 0) return "missing";
  if (std::isnan(summary.standard_deviation)) {
    return FormatMetric(summary.mean);
  }
  return absl::StrFormat("%s ± %.2g", FormatMetric(summary.mean),
                         summary.standard_deviation);
}

std::string PValue(double p) {
  if (std::isnan(p)) return "-";
  return p < 0.0001 ? "<0.0001" : absl::StrFormat("%.4f", p);
}

std::string Counted(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// How many comparisons of one metric count, at most.
template <typename Counts>
size_t MostOfAMetric(const std::vector<Comparison>& comparisons,
                     const Counts& counts) {
  std::map<std::string, size_t> tests;
  size_t most = 0;
  for (const Comparison& comparison : comparisons) {
    if (counts(comparison)) most = std::max(most, ++tests[comparison.metric]);
  }
  return most;
}

std::set<std::string> MetricsOfRuns(const Grid& grid) {
  std::set<std::string> names;
  for (const GridRun& run : grid.runs) {
    for (const auto& [name, value] : run.metrics) names.insert(name);
  }
  return names;
}

}  // namespace

std::string GridSummary(const Grid& grid) {
  std::set<std::string> seeds;
  size_t missing = 0;
  for (const GridRun& run : grid.runs) {
    seeds.insert(run.seed);
    if (!run.missing.empty()) ++missing;
  }
  return absl::StrCat(
      Counted(CellsOf(grid).size(), "cell"), ", ",
      Counted(seeds.size(), "seed"), " each; ",
      missing == 0 ? absl::StrCat("all ", grid.runs.size(), " runs finished")
                   : absl::StrCat(missing, " of ", grid.runs.size(), " runs ",
                                  missing == 1 ? "is" : "are", " missing"),
      ".");
}

Table ResultsTable(const Grid& grid) {
  Table table;
  for (const Axis& axis : grid.axes) table.header.push_back(axis.name);
  table.header.push_back("n");
  const std::vector<std::string> metrics = MetricsToShow(grid);
  table.header.insert(table.header.end(), metrics.begin(), metrics.end());
  for (const GridCell& cell : CellsOf(grid)) {
    std::vector<std::string> row;
    for (size_t a = 0; a < grid.axes.size(); ++a) {
      row.push_back(grid.axes[a].values[cell.coordinates[a]].label);
    }
    const auto finished =
        std::count_if(cell.runs.begin(), cell.runs.end(),
                      [](const GridRun* run) { return run->missing.empty(); });
    const auto runs = static_cast<std::ptrdiff_t>(cell.runs.size());
    row.push_back(finished == runs ? absl::StrCat(runs)
                                   : absl::StrCat(finished, " of ", runs));
    for (const std::string& metric : metrics) {
      row.push_back(MeanAndDeviation(Summarize(ValuesOf(cell, metric))));
    }
    table.rows.push_back(row);
  }
  return table;
}

Table MissingTable(const Grid& grid) {
  Table table;
  table.header = {"run", "seed", "why"};
  for (const GridRun& run : grid.runs) {
    if (run.missing.empty()) continue;
    table.rows.push_back(
        {CellName(grid, run.coordinates), run.seed, run.missing});
  }
  return table;
}

namespace {

// " (better)" or " (worse)", where the metric says which is.
absl::string_view Judgement(const Grid& grid, const Comparison& comparison) {
  const MetricInfo* info = FindMetric(grid.metric_infos, comparison.metric);
  if (info == nullptr || info->better == Better::kNeither ||
      comparison.differences.n == 0 || !comparison.Significant()) {
    return "";
  }
  const bool higher = comparison.differences.mean > 0;
  return higher == (info->better == Better::kHigher) ? " (better)" : " (worse)";
}

}  // namespace

Table ComparisonsTable(const Grid& grid,
                       const std::vector<Comparison>& comparisons) {
  Table table;
  table.header = {"metric",     "value", "against",     "seeds",
                  "difference", "p",     "corrected p", "verdict"};
  for (const Comparison& comparison : comparisons) {
    const Axis& axis = grid.axes[comparison.axis];
    table.rows.push_back(
        {comparison.metric, ValueName(axis, comparison.value),
         ValueName(axis, axis.baseline), absl::StrCat(comparison.differences.n),
         comparison.differences.n == 0
             ? "-"
             : MeanAndDeviation(comparison.differences),
         PValue(comparison.test.p_value), PValue(comparison.corrected_p_value),
         absl::StrCat(Verdict(comparison), Judgement(grid, comparison))});
  }
  return table;
}

Table ExamplesTable(const Grid& grid,
                    const std::vector<Comparison>& comparisons) {
  Table table;
  table.header = {"metric",
                  "value",
                  "against",
                  "runs",
                  "examples",
                  "difference",
                  "95 %",
                  "one-sided p by bootstrap",
                  "p by randomization",
                  "corrected p"};
  for (const Comparison& comparison : comparisons) {
    if (!comparison.over_examples.has_value()) continue;
    const ComparisonOverExamples& over = *comparison.over_examples;
    const Axis& axis = grid.axes[comparison.axis];
    table.rows.push_back(
        {comparison.metric, ValueName(axis, comparison.value),
         ValueName(axis, axis.baseline), absl::StrCat(over.pairs),
         absl::StrCat(over.examples), FormatMetric(over.tests.difference),
         ConfidenceText(over.tests.resampled), PValue(over.tests.bootstrap_p),
         PValue(over.tests.randomization_p), PValue(over.corrected_p_value)});
  }
  return table;
}

std::vector<std::string> ExamplesNotes(
    const std::vector<Comparison>& comparisons) {
  const size_t most =
      MostOfAMetric(comparisons, [](const Comparison& comparison) {
        return comparison.over_examples.has_value();
      });
  if (most == 0) return {};
  return {absl::StrCat(
      "These ask whether the same trained models would differ on other "
      "examples of the kind; those over seeds, whether other trainings would "
      "on the same examples. The difference is averaged over the pairs of "
      "runs, paired by seed. 95 % and the first p, which is "
      "one-sided (about half of a two-sided p), are of ",
      kBootstrapResamples,
      " paired bootstrap resamples of the examples (mean ± half of the "
      "distance between the 2.5 % and 97.5 % percentiles), the second p is of "
      "approximate randomization with ",
      kRandomizationTrials,
      " trials. An example is drawn, or its outputs are swapped, in all pairs "
      "at once. Corrected p is the second after Holm's correction for the ",
      Counted(most, "comparison"), " of a metric.")};
}

std::vector<std::string> ComparisonNotes(
    const std::vector<Comparison>& comparisons) {
  bool exact = true;
  double smallest = 1;
  int seeds = 0;
  int missing = 0;
  bool tested = false;
  for (const Comparison& comparison : comparisons) {
    if (comparison.missing_pairs > 0) ++missing;
    if (std::isnan(comparison.test.p_value)) continue;
    tested = true;
    exact = exact && comparison.test.exact;
    smallest = std::min(smallest, comparison.test.smallest_p_value);
    seeds = std::max(seeds, comparison.differences.n);
  }
  const size_t count = MostOfAMetric(
      comparisons, [](const Comparison& c) { return c.Measured(); });
  std::vector<std::string> notes;
  if (missing > 0) {
    notes.push_back(
        "Where a pair of runs is missing, the difference is that of the pairs "
        "that are left, and nothing is claimed: runs that fail are no random "
        "choice.");
  }
  if (!tested) return notes;
  notes.push_back(absl::StrCat(
      "A difference is value minus baseline, averaged over the values of all "
      "other axes; shown are mean ± standard deviation over seeds. p is that "
      "of a two-sided permutation test, paired by seed (",
      exact ? "exact" : absl::StrCat(kRandomChoices, " random sign flips"),
      "). Corrected p is after Holm's correction for the ",
      Counted(count, "comparison"),
      " of a metric; metrics are not corrected for one another. At ",
      kSignificanceLevel,
      " or below a difference is called significant. \"Not significant\" says "
      "that these runs do not show a difference, not that there is none."));
  const double reachable = std::min(1.0, smallest * static_cast<double>(count));
  if (smallest > kSignificanceLevel) {
    notes.push_back(absl::StrFormat(
        "With %s no p can be below %.4g: no difference here can be "
        "significant, whatever its size. That takes 6 seeds at least.",
        Counted(seeds, "seed"), smallest));
  } else if (reachable > kSignificanceLevel) {
    notes.push_back(absl::StrFormat(
        "With %s and %s, a difference that stands alone has a corrected p of "
        "at least %.4g: it cannot be significant, whatever its size.",
        Counted(seeds, "seed"), Counted(count, "comparison"), reachable));
  }
  return notes;
}

Table LabelsTable(const Grid& grid) {
  Table table;
  table.header = {"axis", "label", "sets"};
  for (const Axis& axis : grid.axes) {
    for (const AxisValue& value : axis.values) {
      const std::string plain = absl::StrCat(axis.name, "=", value.label);
      if (value.overrides == std::vector<std::string>{plain}) continue;
      table.rows.push_back({axis.name, value.label,
                            value.overrides.empty()
                                ? "nothing"
                                : absl::StrJoin(value.overrides, ", ")});
    }
  }
  return table;
}

Table RunsTable(const Grid& grid) {
  Table table;
  for (const Axis& axis : grid.axes) table.header.push_back(axis.name);
  table.header.insert(table.header.end(), {"seed", "state"});
  const std::set<std::string> metrics = MetricsOfRuns(grid);
  table.header.insert(table.header.end(), metrics.begin(), metrics.end());
  for (const GridRun& run : grid.runs) {
    std::vector<std::string> row;
    for (size_t a = 0; a < grid.axes.size(); ++a) {
      row.push_back(grid.axes[a].values[run.coordinates[a]].label);
    }
    row.push_back(run.seed);
    row.push_back(run.missing.empty() ? "finished" : "missing");
    for (const std::string& metric : metrics) {
      const auto found = run.metrics.find(metric);
      const bool there = found != run.metrics.end();
      row.push_back(!there                      ? ""
                    : std::isnan(found->second) ? "nan"
                                                : JsonNumber(found->second));
    }
    table.rows.push_back(row);
  }
  return table;
}

std::vector<Plot> CurvePlots(const Grid& grid) {
  const std::vector<GridCell> cells = CellsOf(grid);
  // Values over seeds by metric, cell and step.
  std::map<std::string,
           std::map<size_t, std::map<int64_t, std::vector<double>>>>
      curves;
  std::vector<int64_t> finished(cells.size());
  for (size_t c = 0; c < cells.size(); ++c) {
    for (const GridRun* run : cells[c].runs) {
      if (!run->missing.empty()) continue;
      ++finished[c];
      for (const MetricsRecord& record : run->records) {
        for (const auto& [metric, value] : record.metrics) {
          curves[metric][c][record.step].push_back(value);
        }
      }
    }
  }
  std::vector<Plot> plots;
  for (const auto& [metric, by_cell] : curves) {
    Plot plot;
    plot.title = metric;
    plot.x_label = "step";
    plot.y_label = metric;
    bool changes = false;
    for (const auto& [c, by_step] : by_cell) {
      Series series;
      series.name = CellName(grid, cells[c].coordinates);
      for (const auto& [step, values] : by_step) {
        // A mean of the longest runs alone would be of other seeds.
        if (std::ssize(values) < finished[c]) continue;
        const SampleSummary summary = Summarize(values);
        series.xs.push_back(static_cast<double>(step));
        series.ys.push_back(summary.mean);
        series.band.push_back(summary.standard_deviation);
      }
      changes = changes || series.xs.size() > 1;
      plot.series.push_back(series);
    }
    if (changes) plots.push_back(plot);
  }
  return plots;
}

}  // namespace regard
