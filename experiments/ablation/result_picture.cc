#include "experiments/ablation/result_picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "evaluation/metric.h"
#include "evaluation/statistics.h"

namespace regard {
namespace {

// Returns the metric of the runs for which `belongs` is true: for each seed,
// the mean over the runs with that seed.
template <typename Belongs>
std::vector<double> ValuesBySeed(const ResultGrid& grid,
                                 const std::string& metric,
                                 const Belongs& belongs) {
  std::vector<std::string> seeds;  // seeds in the order of the runs
  std::map<std::string, std::vector<double>> by_seed;
  for (const ComparedRun& run : grid.runs) {
    const auto found = run.status.metrics.find(metric);
    if (!belongs(run) || found == run.status.metrics.end()) continue;
    if (by_seed[run.seed].empty()) seeds.push_back(run.seed);
    by_seed[run.seed].push_back(found->second);
  }
  std::vector<double> values;
  for (const std::string& seed : seeds) {
    values.push_back(Summarize(by_seed[seed]).mean);
  }
  return values;
}

std::vector<double> ValuesOf(const ResultGrid& grid, const std::string& metric,
                             size_t axis, size_t value) {
  return ValuesBySeed(grid, metric, [&](const ComparedRun& run) {
    return run.coordinates[axis] == value;
  });
}

// Returns a text such as "test/bleu (higher is better)".
std::string MetricWithDirection(const ResultGrid& grid,
                                const std::string& metric) {
  switch (DirectionOf(grid, metric)) {
    case Better::kHigher:
      return absl::StrCat(metric, " (higher is better)");
    case Better::kLower:
      return absl::StrCat(metric, " (lower is better)");
    case Better::kNeither:
      break;
  }
  return metric;
}

ForestRow RowOf(const ResultGrid& grid, const Comparison& comparison) {
  const Axis& axis = grid.axes[comparison.axis];
  ForestRow row = {
      .label = ValueName(axis, comparison.value),
      .values =
          ValuesOf(grid, comparison.metric, comparison.axis, comparison.value),
      .differences = comparison.by_seed,
      .verdict = absl::StrCat(Verdict(comparison),
                              BetterOrWorseText(grid, comparison))};
  // If pairs are missing, the finished runs are not a random sample of the
  // cell.
  if (comparison.missing_pairs == 0) {
    const auto interval = PermutationInterval(comparison.by_seed);
    if (interval.has_value()) {
      row.low = interval->low;
      row.high = interval->high;
    }
  }
  const Better better = DirectionOf(grid, comparison.metric);
  if (comparison.IsSignificant() && better != Better::kNeither) {
    row.tone = (comparison.differences.mean > 0) == (better == Better::kHigher)
                   ? ForestRow::Tone::kBetter
                   : ForestRow::Tone::kWorse;
  }
  return row;
}

constexpr char kLegend[] =
    "A large dot is one seed, and the line is the mean of the seeds. A small "
    "dot is the difference from the baseline for one seed. The bar is the 95 % "
    "interval of the mean difference. It comes from the permutation test over "
    "seeds, which requires 6 seeds. The verdict is corrected for the number of "
    "comparisons, but the interval is not.";

ForestPlot AxisPlot(const ResultGrid& grid, const std::string& metric,
                    size_t axis, const std::vector<Comparison>& comparisons) {
  const Axis& of = grid.axes[axis];
  const size_t base = of.baseline;
  ForestPlot plot = {.title = absl::StrCat(metric, " by ", of.name),
                     .metric = MetricWithDirection(grid, metric),
                     .baseline = ValueName(of, base),
                     .legend = kLegend};
  plot.rows.push_back(
      {.label = plot.baseline, .values = ValuesOf(grid, metric, axis, base)});
  for (const Comparison& comparison : comparisons) {
    if (comparison.metric != metric || comparison.axis != axis) continue;
    if (comparison.RunsHaveMetric()) {
      plot.rows.push_back(RowOf(grid, comparison));
    }
  }
  return plot;
}

ForestPlot ArmsPlot(const ResultGrid& grid, const std::string& metric) {
  ForestPlot plot = {.title = absl::StrCat(metric, " of each combination"),
                     .metric = MetricWithDirection(grid, metric)};
  std::vector<std::vector<size_t>> arms;
  for (const ComparedRun& run : grid.runs) {
    if (std::ranges::count(arms, run.coordinates) > 0) continue;
    arms.push_back(run.coordinates);
    plot.rows.push_back(
        {.label = CellName(grid, run),
         .values = ValuesBySeed(grid, metric, [&](const ComparedRun& other) {
           return other.coordinates == run.coordinates;
         })});
  }
  return plot;
}

// Returns a sentence such as "dot has a significantly higher (better) test/bleu
// than additive: 38.1 instead of 36.9. The difference over 6 seeds is 1.2 [0.8,
// 1.6] (corrected p-value 0.031)."
std::string SignificantSentence(const ResultGrid& grid,
                                const Comparison& comparison) {
  const Axis& axis = grid.axes[comparison.axis];
  const ForestRow row = RowOf(grid, comparison);
  const auto mean = [&](size_t value) {
    return FormatMetric(
        Summarize(ValuesOf(grid, comparison.metric, comparison.axis, value))
            .mean);
  };
  return absl::StrFormat(
      "%s has a %s%s %s than %s: %s instead of %s. The difference over %s is "
      "%s%s (corrected p-value %.2g).",
      row.label, Verdict(comparison), BetterOrWorseText(grid, comparison),
      comparison.metric, ValueName(axis, axis.baseline), mean(comparison.value),
      mean(axis.baseline), Pluralize(comparison.differences.n, "seed"),
      FormatMetric(comparison.differences.mean),
      row.low == 0 && row.high == 0
          ? ""
          : absl::StrFormat(" [%s, %s]", FormatMetric(row.low),
                            FormatMetric(row.high)),
      comparison.corrected_p_value);
}

}  // namespace

std::string InAList(const std::vector<std::string>& names,
                    absl::string_view last) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), last,
                      names.back());
}

std::string ResultInWords(const ResultGrid& grid,
                          const std::vector<Comparison>& comparisons) {
  const std::string metric = PrimaryMetric(grid);
  std::vector<std::string> sentences;
  std::vector<std::string> others;  // about values without a significant change
  size_t tests = 0;
  int seeds = 0;
  for (const Comparison& comparison : comparisons) {
    if (comparison.metric != metric || !comparison.RunsHaveMetric()) continue;
    ++tests;
    seeds = std::max(seeds, comparison.differences.n);
  }
  for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
    std::vector<std::string> even;
    std::vector<std::string> unjudged;
    bool missing = false;
    for (const Comparison& comparison : comparisons) {
      if (comparison.metric != metric || comparison.axis != axis ||
          !comparison.RunsHaveMetric()) {
        continue;
      }
      if (comparison.IsSignificant()) {
        sentences.push_back(SignificantSentence(grid, comparison));
        continue;
      }
      missing = missing || comparison.missing_pairs > 0;
      (std::isnan(comparison.corrected_p_value) ? unjudged : even)
          .push_back(ValueName(grid.axes[axis], comparison.value));
    }
    const std::string baseline =
        ValueName(grid.axes[axis], grid.axes[axis].baseline);
    if (!even.empty()) {
      others.push_back(absl::StrCat("These runs do not show that ",
                                    InAList(even, " or "), " differs from ",
                                    baseline, " in ", metric, "."));
    }
    if (!unjudged.empty()) {
      others.push_back(absl::StrCat(
          InAList(unjudged, " and "), unjudged.size() == 1 ? " is" : " are",
          " not compared with ", baseline, ", because ",
          missing ? "runs are missing." : "values are not finite."));
    }
  }
  sentences.insert(sentences.end(), others.begin(), others.end());
  const std::string too_few = TooFewSeeds(seeds, tests);
  if (seeds > 0 && !too_few.empty()) {
    sentences.push_back(absl::StrCat("With ", too_few, "."));
  }
  return absl::StrJoin(sentences, " ");
}

std::vector<Block> ResultBlocks(const ResultGrid& grid,
                                const std::vector<Comparison>& comparisons) {
  const std::string metric = PrimaryMetric(grid);
  if (metric.empty()) return {};
  std::vector<Block> blocks;
  if (std::string words = ResultInWords(grid, comparisons); !words.empty()) {
    blocks.emplace_back(std::move(words));
  }
  for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
    ForestPlot plot = AxisPlot(grid, metric, axis, comparisons);
    if (plot.rows.size() < 2) continue;
    // Only the last plot has the legend.
    if (axis + 1 < grid.axes.size()) plot.legend.clear();
    blocks.emplace_back(std::move(plot));
  }
  if (grid.axes.size() != 1) blocks.emplace_back(ArmsPlot(grid, metric));
  return blocks;
}

}  // namespace regard
