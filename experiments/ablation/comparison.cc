#include "experiments/ablation/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/worker_pool.h"
#include "experiments/report/examples_report.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "optimization/evaluated_set.h"
#include "options/config_fields.h"

namespace regard {
namespace {

struct Pair {
  const ComparedRun* value;
  const ComparedRun* baseline;
};

// Pairs each run at the given value of the axis with the run that differs only
// in having the baseline value.
std::vector<Pair> PairsOf(const ResultGrid& grid, size_t axis, size_t value) {
  std::map<std::pair<std::vector<size_t>, std::string>, const ComparedRun*>
      runs;
  for (const ComparedRun& run : grid.runs) {
    runs[{run.coordinates, run.seed}] = &run;
  }
  std::vector<Pair> pairs;
  for (const ComparedRun& run : grid.runs) {
    if (run.coordinates[axis] != value) continue;
    std::vector<size_t> partner = run.coordinates;
    partner[axis] = grid.axes[axis].baseline;
    const auto found = runs.find({partner, run.seed});
    if (found != runs.end()) pairs.push_back({&run, found->second});
  }
  return pairs;
}

// A metric, and the data set on which it was measured.
struct MeasuredSet {
  const EvaluatedSet* set = nullptr;
  const MetricOverExamples* metric = nullptr;
};

MeasuredSet FindMeasuredSet(const ComparedRun& run, const std::string& metric) {
  for (const EvaluatedSet& set : run.sets) {
    for (const MetricOverExamples& candidate : set.metrics) {
      if (candidate.name == metric) return {&set, &candidate};
    }
  }
  return {};
}

std::optional<ComparisonOverExamples> CompareOverExamples(
    const std::vector<Pair>& pairs, const std::string& metric) {
  std::vector<ExampleMetricPair> measured;
  std::set<uint64_t> examples;
  size_t of_a_run = 0;
  for (const auto& [run, baseline] : pairs) {
    const MeasuredSet ours = FindMeasuredSet(*run, metric);
    const MeasuredSet theirs = FindMeasuredSet(*baseline, metric);
    if (ours.set == nullptr || theirs.set == nullptr ||
        ours.set->examples.empty() ||
        !HaveSameExamples(*ours.set, *theirs.set)) {
      return std::nullopt;
    }
    measured.push_back({ours.metric, theirs.metric, ExamplesKey(*ours.set),
                        ExampleKeys(*ours.set)});
    examples.insert(measured.back().examples.begin(),
                    measured.back().examples.end());
    of_a_run = std::max(of_a_run, ours.set->examples.size());
  }
  if (measured.empty()) return std::nullopt;
  ComparisonOverExamples comparison = {
      .pairs = static_cast<int>(measured.size()),
      .examples = examples.size(),
      .examples_a_run = of_a_run};
  comparison.tests = ComparePaired(measured);
  comparison.corrected_p_value = comparison.tests.randomization_p;
  return comparison;
}

Comparison Compare(const ResultGrid& grid, const std::string& metric,
                   size_t axis, size_t value) {
  Comparison comparison = {.metric = metric, .axis = axis, .value = value};
  std::map<std::string, std::vector<double>> by_seed;
  const std::vector<Pair> pairs = PairsOf(grid, axis, value);
  for (const auto& [run, baseline] : pairs) {
    const auto ours = run->status.metrics.find(metric);
    const auto theirs = baseline->status.metrics.find(metric);
    const bool has_ours = ours != run->status.metrics.end();
    const bool has_theirs = theirs != baseline->status.metrics.end();
    if (!has_ours || !has_theirs) {
      const bool failed = !run->missing.empty() || !baseline->missing.empty();
      if (failed || has_ours != has_theirs) ++comparison.missing_pairs;
      continue;
    }
    by_seed[run->seed].push_back(ours->second - theirs->second);
  }
  std::vector<double> differences;
  for (const auto& [seed, of_seed] : by_seed) {
    differences.push_back(Summarize(of_seed).mean);
  }
  comparison.differences = Summarize(differences);
  comparison.by_seed = differences;
  comparison.p_value = PairedPermutationTest(differences);
  comparison.over_examples = CompareOverExamples(pairs, metric);
  // If pairs are missing, the finished runs are not a random sample of the
  // cell.
  if (comparison.missing_pairs > 0) comparison.p_value = std::nan("");
  comparison.corrected_p_value = comparison.p_value;
  return comparison;
}

void CorrectByHolm(const std::vector<double*>& p_values) {
  std::vector<double> values;
  for (const double* p_value : p_values) values.push_back(*p_value);
  values = HolmAdjusted(values);
  for (size_t i = 0; i < values.size(); ++i) *p_values[i] = values[i];
}

absl::string_view Parent(absl::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == absl::string_view::npos ? "" : path.substr(0, dot);
}

// Returns the fields that the axis sets: "model.dot" for "model.dot={scale:
// true}", and "layers.width" for "layers[0].width=8", because resolved configs
// have no indices.
std::set<std::string> PathsOf(const Axis& axis) {
  std::set<std::string> paths;
  for (const AxisValue& value : axis.values) {
    for (const std::string& override : value.overrides) {
      std::string path;
      for (const PathStep& step :
           SplitPath(override.substr(0, override.find('=')))) {
        path = JoinFieldPath(path, step.name);
      }
      paths.insert(path);
    }
  }
  return paths;
}

// Whether one field was set and its sibling cleared, as in a oneof.
bool ChangedPlaces(const FieldDifference& a, const FieldDifference& b) {
  return Parent(a.path) == Parent(b.path) &&
         ((a.before == "not set" && b.after == "not set") ||
          (a.after == "not set" && b.before == "not set"));
}

// Whether the axis is meant to cause the difference.
bool IsOfAxis(const FieldDifference& difference,
              const std::vector<FieldDifference>& all,
              const std::set<std::string>& axis_paths) {
  // Setting a field creates the enclosing messages, and may clear members of
  // their oneofs.
  return std::ranges::any_of(axis_paths, [&](const std::string& path) {
    return IsWithin(difference.path, path) || IsWithin(path, difference.path) ||
           std::ranges::any_of(all, [&](const FieldDifference& other) {
             return IsWithin(path, other.path) &&
                    ChangedPlaces(difference, other);
           });
  });
}

std::string PValue(double p) {
  if (std::isnan(p)) return "-";
  return p < 0.0001 ? "<0.0001" : absl::StrFormat("%.4f", p);
}

// Counts the comparisons of each metric that satisfy `counts`, and returns the
// largest of these numbers.
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

// Returns a sentence on the correction for `comparisons` of one metric.
std::string HolmText(size_t comparisons) {
  if (comparisons <= 1) {
    return "A metric has only one comparison, so the correction has no effect.";
  }
  return absl::StrCat("Holm's correction covers the ", comparisons,
                      " comparisons of a metric, but not different metrics.");
}

std::vector<Block> SeedsNotes(const std::vector<Comparison>& comparisons) {
  int seeds = 0;
  bool missing = false;
  for (const Comparison& comparison : comparisons) {
    missing = missing || comparison.missing_pairs > 0;
    if (std::isnan(comparison.p_value)) continue;
    seeds = std::max(seeds, comparison.differences.n);
  }
  const size_t count = MostOfAMetric(
      comparisons, [](const Comparison& c) { return c.RunsHaveMetric(); });
  std::vector<Block> notes;
  if (missing) {
    notes.push_back(
        "If pairs of runs are missing, the difference uses the remaining "
        "pairs. It has no p-value, because the finished runs are not a random "
        "sample.");
  }
  if (seeds == 0) return notes;
  notes.push_back(absl::StrCat(
      "A difference is the value minus the baseline, averaged over the values "
      "of the other axes. The table shows its mean (standard deviation) over "
      "seeds. The permutation test is two-sided, paired by seed, and ",
      seeds <= kMaxExactPairs
          ? "exact. "
          : absl::StrCat("uses ", kRandomChoices, " random sign flips. "),
      HolmText(count),
      " A difference is significant if its corrected p-value is at most ",
      kSignificanceLevel,
      ". \"Not significant\" means that these runs do not show a difference."));
  const double smallest = seeds <= kMaxExactPairs ? std::ldexp(1.0, 1 - seeds)
                                                  : 1.0 / (kRandomChoices + 1);
  const double reachable = std::min(1.0, smallest * static_cast<double>(count));
  notes.push_back(absl::StrFormat(
      "For %s of a metric, a significant difference requires at least %d "
      "seeds. With %s, the smallest possible corrected p-value is %.4g.%s",
      Pluralize(count, "comparison"), SeedsForSignificance(count),
      Pluralize(seeds, "seed"), reachable,
      reachable > kSignificanceLevel
          ? " So no difference can be significant, whatever its size."
          : ""));
  return notes;
}

}  // namespace

std::vector<Comparison> CompareWithBaselines(const ResultGrid& grid) {
  std::vector<Comparison> all;
  for (const std::string& metric : MetricsToShow(grid)) {
    for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
      for (size_t v = 0; v < grid.axes[axis].values.size(); ++v) {
        if (v == grid.axes[axis].baseline) continue;
        all.push_back({.metric = metric, .axis = axis, .value = v});
      }
    }
  }
  // Computes in parallel, because the tests over examples take most of the time
  // of a report.
  const auto count = static_cast<int64_t>(all.size());
  WorkerPool pool(
      static_cast<int>(std::clamp<int64_t>(count, 1, HardwareThreads())));
  pool.Run(count, [&](int64_t i) {
    Comparison& comparison = all[static_cast<size_t>(i)];
    comparison =
        Compare(grid, comparison.metric, comparison.axis, comparison.value);
  });

  std::map<std::string, std::vector<double*>> over_seeds;
  std::map<std::string, std::vector<double*>> over_examples;
  for (Comparison& comparison : all) {
    // Does not correct for comparisons whose runs do not measure the metric.
    if (!comparison.RunsHaveMetric()) continue;
    over_seeds[comparison.metric].push_back(&comparison.corrected_p_value);
    if (!comparison.over_examples.has_value()) continue;
    over_examples[comparison.metric].push_back(
        &comparison.over_examples->corrected_p_value);
  }
  for (const auto& [metric, p_values] : over_seeds) CorrectByHolm(p_values);
  for (const auto& [metric, p_values] : over_examples) CorrectByHolm(p_values);
  return all;
}

size_t ComparisonsOfAMetric(const ResultGrid& grid) {
  size_t comparisons = 0;
  for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
    for (size_t v = 0; v < grid.axes[axis].values.size(); ++v) {
      if (v == grid.axes[axis].baseline) continue;
      if (!PairsOf(grid, axis, v).empty()) ++comparisons;
    }
  }
  return comparisons;
}

std::string TooFewSeeds(int seeds, size_t comparisons) {
  const int required = SeedsForSignificance(comparisons);
  if (comparisons == 0 || seeds >= required) return "";
  return absl::StrCat(
      Pluralize(seeds, "seed"), ", no difference can be significant: ",
      Pluralize(comparisons, "comparison"),
      comparisons == 1 ? " requires" : " require", " at least ", required);
}

std::string Verdict(const Comparison& comparison) {
  if (comparison.missing_pairs > 0) {
    return absl::StrCat(Pluralize(comparison.missing_pairs, "pair"),
                        " missing");
  }
  if (comparison.differences.n == 0) return "no pairs";
  if (std::isnan(comparison.corrected_p_value)) return "not finite";
  if (!comparison.IsSignificant()) return "not significant";
  return comparison.differences.mean > 0 ? "significantly higher"
                                         : "significantly lower";
}

absl::string_view BetterOrWorseText(const ResultGrid& grid,
                                    const Comparison& comparison) {
  const Better better = DirectionOf(grid, comparison.metric);
  if (comparison.differences.n == 0 || !comparison.IsSignificant() ||
      better == Better::kNeither) {
    return "";
  }
  const bool higher = comparison.differences.mean > 0;
  return higher == (better == Better::kHigher) ? " (better)" : " (worse)";
}

Section SeedsSection(const ResultGrid& grid,
                     const std::vector<Comparison>& comparisons) {
  Table table = {{"metric", "value", "baseline", "seeds", "difference",
                  "p-value", "corrected p-value", "verdict"}};
  for (const Comparison& comparison : comparisons) {
    const Axis& axis = grid.axes[comparison.axis];
    const SampleSummary& differences = comparison.differences;
    table.rows.push_back(
        {comparison.metric, ValueName(axis, comparison.value),
         ValueName(axis, axis.baseline), absl::StrCat(differences.n),
         differences.n == 0 ? "-" : SampleText(differences),
         PValue(comparison.p_value), PValue(comparison.corrected_p_value),
         absl::StrCat(Verdict(comparison),
                      BetterOrWorseText(grid, comparison))});
  }
  Section section = {"Comparisons over seeds", SeedsNotes(comparisons)};
  section.blocks.insert(section.blocks.begin(), std::move(table));
  return section;
}

Section ExamplesSection(const ResultGrid& grid,
                        const std::vector<Comparison>& comparisons) {
  Table table = {{"metric", "value", "baseline", "runs", "examples",
                  "difference", "mean [95 % interval]", "bootstrap p-value",
                  "randomization p-value", "corrected p-value"}};
  for (const Comparison& comparison : comparisons) {
    if (!comparison.over_examples.has_value()) continue;
    const ComparisonOverExamples& over = *comparison.over_examples;
    const Axis& axis = grid.axes[comparison.axis];
    table.rows.push_back(
        {comparison.metric, ValueName(axis, comparison.value),
         ValueName(axis, axis.baseline), absl::StrCat(over.pairs),
         over.examples == over.examples_a_run
             ? absl::StrCat(over.examples)
             : absl::StrCat(over.examples_a_run, " per run, ", over.examples,
                            " different"),
         FormatMetric(over.tests.difference),
         ConfidenceText(over.tests.resampled), PValue(over.tests.bootstrap_p),
         PValue(over.tests.randomization_p), PValue(over.corrected_p_value)});
  }
  const size_t most = MostOfAMetric(comparisons, [](const Comparison& c) {
    return c.over_examples.has_value();
  });
  const std::string note = absl::StrCat(
      "These comparisons show whether the same trained models would differ on "
      "other examples of the same kind. The comparisons over seeds show "
      "whether newly trained models would differ. A difference is averaged "
      "over the pairs of runs with the same seed. The bootstrap uses ",
      kBootstrapResamples,
      " paired resamples of the examples. Its interval reaches from the 2.5th "
      "to the 97.5th percentile. Its p-value is one-sided, about half of a "
      "two-sided p-value. Approximate randomization is two-sided and uses ",
      kRandomizationTrials,
      " trials. The corrected p-value is its p-value after Holm's correction. "
      "Both methods draw or swap an example in all runs at once, so "
      "more runs do not count as more examples. ",
      HolmText(most));

  return {"Comparisons over examples", {std::move(table), note}};
}

std::vector<std::string> ConfoundedComparisons(const ResultGrid& grid) {
  std::vector<std::string> warnings;
  for (size_t a = 0; a < grid.axes.size(); ++a) {
    const Axis& axis = grid.axes[a];
    const std::set<std::string> axis_paths = PathsOf(axis);
    for (size_t v = 0; v < axis.values.size(); ++v) {
      if (v == axis.baseline) continue;
      std::set<std::string> others;
      for (const auto& [run, baseline] : PairsOf(grid, a, v)) {
        if (run->config.empty() || baseline->config.empty()) continue;
        const std::vector<FieldDifference> differences =
            DiffResolvedFields(baseline->config, run->config);
        for (const FieldDifference& other : differences) {
          if (IsOfAxis(other, differences, axis_paths)) continue;
          others.insert(absl::StrCat(other.path, " (", other.after, "; ",
                                     other.before, ")"));
        }
      }
      if (others.empty()) continue;
      warnings.push_back(absl::StrCat(
          ValueName(axis, v), " and ", ValueName(axis, axis.baseline),
          " also differ in fields outside their axis: ",
          absl::StrJoin(others, ", "), "."));
    }
  }
  return warnings;
}

}  // namespace regard
