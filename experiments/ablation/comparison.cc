#include "experiments/ablation/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "experiments/report/examples_report.h"
#include "nn/evaluated_set.h"

namespace regard {
namespace {

struct Pair {
  const GridRun* value;
  const GridRun* baseline;
};

// Runs at the value of the axis, each with its partner at the baseline.
std::vector<Pair> PairsOf(const Grid& grid, size_t axis, size_t value) {
  std::map<std::pair<std::vector<size_t>, std::string>, const GridRun*> runs;
  for (const GridRun& run : grid.runs) {
    runs[{run.coordinates, run.seed}] = &run;
  }
  std::vector<Pair> pairs;
  for (const GridRun& run : grid.runs) {
    if (run.coordinates[axis] != value) continue;
    std::vector<size_t> partner = run.coordinates;
    partner[axis] = grid.axes[axis].baseline;
    const auto found = runs.find({partner, run.seed});
    if (found != runs.end()) pairs.push_back({&run, found->second});
  }
  return pairs;
}

// The data set of a metric, and the metric.
struct MeasuredSet {
  const EvaluatedSet* set = nullptr;
  const ExampleMetric* metric = nullptr;
};

MeasuredSet FindMeasuredSet(const GridRun& run, const std::string& metric) {
  for (const EvaluatedSet& set : run.sets) {
    for (const ExampleMetric& candidate : set.metrics) {
      if (candidate.name == metric) return {&set, &candidate};
    }
  }
  return {};
}

std::optional<ComparisonOverExamples> CompareOverExamples(
    const std::vector<Pair>& pairs, const std::string& metric) {
  std::vector<MetricPair> measured;
  std::map<uint64_t, size_t> examples;  // by key
  for (const auto& [run, baseline] : pairs) {
    const MeasuredSet ours = FindMeasuredSet(*run, metric);
    const MeasuredSet theirs = FindMeasuredSet(*baseline, metric);
    if (ours.set == nullptr || theirs.set == nullptr ||
        ours.set->examples.empty() || !SameExamples(*ours.set, *theirs.set)) {
      return std::nullopt;
    }
    const uint64_t key = ExamplesKey(*ours.set);
    measured.push_back({ours.metric, theirs.metric, key});
    examples[key] = ours.set->examples.size();
  }
  if (measured.empty()) return std::nullopt;
  ComparisonOverExamples comparison = {.pairs =
                                           static_cast<int>(measured.size())};
  for (const auto& [key, size] : examples) comparison.examples += size;
  comparison.tests = ComparePaired(measured);
  comparison.corrected_p_value = comparison.tests.randomization_p;
  return comparison;
}

Comparison Compare(const Grid& grid, const std::string& metric, size_t axis,
                   size_t value) {
  Comparison comparison;
  std::map<std::string, std::vector<double>> by_seed;
  const std::vector<Pair> pairs = PairsOf(grid, axis, value);
  for (const auto& [run, baseline] : pairs) {
    const auto ours = run->metrics.find(metric);
    const auto theirs = baseline->metrics.find(metric);
    const bool has_ours = ours != run->metrics.end();
    const bool has_theirs = theirs != baseline->metrics.end();
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
  comparison.metric = metric;
  comparison.axis = axis;
  comparison.value = value;
  comparison.differences = Summarize(differences);
  comparison.test = PairedPermutationTest(differences);
  comparison.over_examples = CompareOverExamples(pairs, metric);
  // The survivors of a cell are no random sample of it.
  if (comparison.missing_pairs > 0) {
    comparison.test.p_value = std::nan("");
  }
  comparison.corrected_p_value = comparison.test.p_value;
  return comparison;
}

// Replaces p-values by Holm's.
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

bool Within(absl::string_view path, absl::string_view message) {
  return path == message || absl::StartsWith(path, absl::StrCat(message, "."));
}

// The fields that the axis sets: "model.dot" of "model.dot={scale: true}".
std::set<std::string> PathsOf(const Axis& axis) {
  std::set<std::string> paths;
  for (const AxisValue& value : axis.values) {
    for (const std::string& override : value.overrides) {
      paths.insert(override.substr(0, override.find('=')));
    }
  }
  return paths;
}

// Whether one came and the other went, side by side: as members of a oneof do.
bool ChangedPlaces(const FieldDifference& a, const FieldDifference& b) {
  const auto came_and_went = [](const FieldDifference& came,
                                const FieldDifference& went) {
    return came.before == "not set" && went.after == "not set";
  };
  return Parent(a.path) == Parent(b.path) &&
         (came_and_went(a, b) || came_and_went(b, a));
}

// Whether the axis is there to make the difference.
bool IsOfAxis(const FieldDifference& difference,
              const std::vector<FieldDifference>& all,
              const std::set<std::string>& axis_paths) {
  return std::any_of(
      axis_paths.begin(), axis_paths.end(), [&](const std::string& path) {
        // Setting a field makes the messages around it, and may clear the
        // members of their oneofs.
        return Within(difference.path, path) || Within(path, difference.path) ||
               std::any_of(all.begin(), all.end(),
                           [&](const FieldDifference& other) {
                             return Within(path, other.path) &&
                                    ChangedPlaces(difference, other);
                           });
      });
}

}  // namespace

std::vector<Comparison> CompareWithBaselines(const Grid& grid) {
  std::vector<Comparison> all;
  for (const std::string& metric : MetricsToShow(grid)) {
    std::vector<Comparison> of_metric;
    for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
      for (size_t v = 0; v < grid.axes[axis].values.size(); ++v) {
        if (v == grid.axes[axis].baseline) continue;
        of_metric.push_back(Compare(grid, metric, axis, v));
      }
    }
    std::vector<double*> over_seeds;
    std::vector<double*> over_examples;
    for (Comparison& comparison : of_metric) {
      // Values that do not measure the metric are of no family.
      if (!comparison.Measured()) continue;
      over_seeds.push_back(&comparison.corrected_p_value);
      if (!comparison.over_examples.has_value()) continue;
      over_examples.push_back(&comparison.over_examples->corrected_p_value);
    }
    CorrectByHolm(over_seeds);
    CorrectByHolm(over_examples);
    all.insert(all.end(), of_metric.begin(), of_metric.end());
  }
  return all;
}

std::string Verdict(const Comparison& comparison) {
  if (comparison.missing_pairs > 0) {
    return absl::StrCat(comparison.missing_pairs,
                        comparison.missing_pairs == 1 ? " pair" : " pairs",
                        " missing");
  }
  if (comparison.differences.n == 0) return "no pairs";
  if (std::isnan(comparison.corrected_p_value)) return "not finite";
  if (!comparison.Significant()) return "not significant";
  return comparison.differences.mean > 0 ? "significantly higher"
                                         : "significantly lower";
}

std::vector<std::string> ConfoundedComparisons(const Grid& grid) {
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
          " differ in more than their axis: also in ",
          absl::StrJoin(others, ", "), "."));
    }
  }
  return warnings;
}

}  // namespace regard
