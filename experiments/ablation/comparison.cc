#include "experiments/ablation/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "experiments/ablation/statistics.h"
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
    comparison.test.p_value = std::numeric_limits<double>::quiet_NaN();
  }
  return comparison;
}

// "model.attention.dot" of "model.attention.dot={scale: true}".
absl::string_view PathOf(absl::string_view override) {
  return override.substr(0, override.find('='));
}

absl::string_view Parent(absl::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == absl::string_view::npos ? "" : path.substr(0, dot);
}

bool Within(absl::string_view path, absl::string_view message) {
  return path == message || absl::StartsWith(path, absl::StrCat(message, "."));
}

std::set<std::string> PathsOf(const Axis& axis) {
  std::set<std::string> paths;
  for (const AxisValue& value : axis.values) {
    for (const std::string& override : value.overrides) {
      paths.emplace(PathOf(override));
    }
  }
  return paths;
}

bool AppearsOnly(const FieldDifference& difference) {
  return difference.before == "not set";
}
bool VanishesOnly(const FieldDifference& difference) {
  return difference.after == "not set";
}

// Whether some field that the axis sets, or a message around it, took the place
// of this one in a oneof: one came and the other went, side by side.
bool ChangedPlaces(const FieldDifference& difference,
                   const std::vector<FieldDifference>& all,
                   const std::set<std::string>& axis_paths) {
  for (const FieldDifference& other : all) {
    const bool opposite = (AppearsOnly(difference) && VanishesOnly(other)) ||
                          (VanishesOnly(difference) && AppearsOnly(other));
    if (!opposite || Parent(other.path) != Parent(difference.path)) continue;
    for (const std::string& path : axis_paths) {
      if (Within(path, other.path)) return true;
    }
  }
  return false;
}

// The differences that the axis is not there to make.
std::vector<FieldDifference> OtherDifferences(
    const std::vector<FieldDifference>& all,
    const std::set<std::string>& axis_paths) {
  std::vector<FieldDifference> others;
  for (const FieldDifference& difference : all) {
    bool of_axis = ChangedPlaces(difference, all, axis_paths);
    for (const std::string& path : axis_paths) {
      // Setting a field makes the messages around it.
      of_axis = of_axis || Within(difference.path, path) ||
                Within(path, difference.path);
    }
    if (!of_axis) others.push_back(difference);
  }
  return others;
}

}  // namespace

std::vector<Comparison> CompareWithBaselines(const Grid& grid) {
  std::vector<Comparison> all;
  for (const std::string& metric : MetricsToShow(grid)) {
    std::vector<double> p_values;
    std::vector<size_t> family;  // without values that do not measure it
    std::vector<double> example_p_values;
    std::vector<size_t> example_family;
    for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
      for (size_t v = 0; v < grid.axes[axis].values.size(); ++v) {
        if (v == grid.axes[axis].baseline) continue;
        all.push_back(Compare(grid, metric, axis, v));
        all.back().corrected_p_value = all.back().test.p_value;
        if (!all.back().Measured()) continue;
        family.push_back(all.size() - 1);
        p_values.push_back(all.back().test.p_value);
        if (!all.back().over_examples.has_value()) continue;
        example_family.push_back(all.size() - 1);
        example_p_values.push_back(
            all.back().over_examples->tests.randomization_p);
      }
    }
    const std::vector<double> corrected = HolmAdjusted(p_values);
    for (size_t i = 0; i < corrected.size(); ++i) {
      all[family[i]].corrected_p_value = corrected[i];
    }
    const std::vector<double> example_corrected =
        HolmAdjusted(example_p_values);
    for (size_t i = 0; i < example_corrected.size(); ++i) {
      all[example_family[i]].over_examples->corrected_p_value =
          example_corrected[i];
    }
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
        for (const FieldDifference& other :
             OtherDifferences(differences, axis_paths)) {
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
