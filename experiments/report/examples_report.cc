#include "experiments/report/examples_report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evaluation/statistics.h"

namespace regard {
namespace {

constexpr int64_t kMaxRanges = 8;
constexpr size_t kMaxExtremes = 5;

// Ranges of input lengths. Range `index` contains the lengths from
// (index - 1) * width + 1 to index * width.
struct Ranges {
  int64_t width = 1;
  int64_t last = 0;      // the index of the last range
  bool is_open = false;  // whether the last range has no upper limit
  // Indices of examples, by the index of the range.
  std::map<int64_t, std::vector<size_t>> examples = {};

  std::string Label(int64_t index) const {
    const int64_t first = index == 0 ? 0 : (index - 1) * width + 1;
    if (index == last && is_open) return absl::StrCat(first, "+");
    if (index * width == first) return absl::StrCat(first);
    return absl::StrCat(first, "-", index * width);
  }
};

int64_t IndexOf(int64_t length, int64_t width) {
  return (length + width - 1) / width;
}

Ranges RangesOf(const EvaluatedSet& set) {
  std::vector<int64_t> lengths;
  for (const ExampleTexts& example : set.examples) {
    lengths.push_back(example.length);
  }
  std::sort(lengths.begin(), lengths.end());
  Ranges ranges;
  if (lengths.empty()) return ranges;
  const size_t longest = lengths.size() - 1;
  const int64_t high = lengths[longest - longest * 2 / 100];
  // Uses the smallest of the widths 1, 2, 5, 10, 20, ... that gives few enough
  // ranges.
  for (int64_t step = 0;
       IndexOf(high, ranges.width) - IndexOf(lengths.front(), ranges.width) >=
       kMaxRanges;
       ++step) {
    ranges.width = step % 3 == 1 ? ranges.width / 2 * 5 : ranges.width * 2;
  }
  ranges.last = IndexOf(high, ranges.width);
  ranges.is_open = IndexOf(lengths.back(), ranges.width) > ranges.last;
  for (size_t i = 0; i < set.examples.size(); ++i) {
    const int64_t index = IndexOf(set.examples[i].length, ranges.width);
    ranges.examples[std::min(index, ranges.last)].push_back(i);
  }
  return ranges;
}

double MeanLength(const EvaluatedSet& set, absl::Span<const size_t> examples) {
  double sum = 0;
  for (const size_t example : examples) {
    sum += static_cast<double>(set.examples[example].length);
  }
  return sum / static_cast<double>(examples.size());
}

}  // namespace

MetricByLengthFigure MeasureByLength(absl::Span<const EvaluatedSetOfRun> runs,
                                     uint64_t seed) {
  MetricByLengthFigure result;
  if (runs.empty() || runs[0].set->metrics.empty()) return result;
  const EvaluatedSet& set = *runs[0].set;
  const Ranges ranges = RangesOf(set);
  if (ranges.examples.size() < 2) return result;
  const std::string& metric = set.metrics[0].name;
  result.plot.title = absl::StrCat(metric, " by ", set.length_unit);
  result.plot.x_label = set.length_unit;
  result.plot.y_label = metric;
  result.table.header = {set.length_unit, "examples"};
  for (const auto& [index, examples] : ranges.examples) {
    result.table.rows.push_back(
        {ranges.Label(index), absl::StrCat(examples.size())});
  }
  for (const EvaluatedSetOfRun& run : runs) {
    result.table.header.push_back(run.name);
    Series series;
    series.name = run.name;
    for (const auto& [index, examples] : ranges.examples) {
      const MetricOverExamples& values = run.set->metrics[0];
      series.xs.push_back(MeanLength(set, examples));
      series.ys.push_back(values.ValueOf(examples));
      ConfidenceInterval interval = BootstrapConfidence(values, examples, seed);
      series.low.push_back(interval.low);
      series.high.push_back(interval.high);
      interval.mean = series.ys.back();
      result.table.rows[series.xs.size() - 1].push_back(
          ConfidenceText(interval));
    }
    result.plot.series.push_back(std::move(series));
  }
  return result;
}

Table WorstAndBest(const EvaluatedSet& set,
                   absl::Span<const MetricInfo> infos) {
  Table table;
  Better better = Better::kNeither;
  const auto metric =
      std::ranges::find_if(set.metrics, [&](const MetricOverExamples& m) {
        const MetricInfo* const info = FindMetric(infos, m.name);
        if (m.of_single_examples && info != nullptr) better = info->better;
        return better != Better::kNeither;
      });
  if (metric == set.metrics.end()) return table;
  table.header = {"", metric->name, "input", "reference", "output"};
  std::vector<size_t> order;
  // Skips repeated examples.
  std::set<std::pair<std::string, std::string>> seen;
  for (size_t i = 0; i < set.examples.size(); ++i) {
    if (seen.emplace(set.examples[i].input, set.examples[i].output).second) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (better == Better::kLower) std::swap(a, b);
    return metric->ValueOf(a) < metric->ValueOf(b);
  });
  const auto add = [&](const char* kind, size_t i) {
    const ExampleTexts& example = set.examples[i];
    table.rows.push_back({kind, FormatMetric(metric->ValueOf(i)), example.input,
                          example.reference, example.output});
  };
  const size_t each = std::min(kMaxExtremes, order.size() / 2);
  for (size_t i = 0; i < each; ++i) add("worst", order[i]);
  for (size_t i = 0; i < each; ++i) add("best", order[order.size() - 1 - i]);
  return table;
}

bool HaveSameExamples(const EvaluatedSet& a, const EvaluatedSet& b) {
  const auto metric_of = [](const MetricOverExamples& metric) {
    return std::tie(metric.name, metric.aggregate);
  };
  const auto example_of = [](const ExampleTexts& example) {
    return std::tie(example.input, example.reference);
  };
  return std::ranges::equal(a.metrics, b.metrics, {}, metric_of, metric_of) &&
         std::ranges::equal(a.examples, b.examples, {}, example_of, example_of);
}

}  // namespace regard
