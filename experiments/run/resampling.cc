#include "experiments/run/resampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autodiff/random.h"
#include "experiments/run/metric.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Draw `resample` of as many of `size` indices, with replacement.
void Draw(const RandomStream& random, int resample,
          absl::Span<size_t> indices) {
  const size_t size = indices.size();
  const uint64_t first = static_cast<uint64_t>(resample) * size;
  for (size_t i = 0; i < size; ++i) {
    indices[i] = random.BelowAt(first + i, size);
  }
}

size_t NumExamples(const ExampleMetric& metric) {
  return metric.statistics.size() /
         static_cast<size_t>(metric.aggregate->width);
}

RandomStream StreamOf(const MetricPair& pair, absl::string_view purpose) {
  return RandomStream(pair.key, purpose);
}

// The mean difference of each resample.
std::vector<double> ResampledDifferences(absl::Span<const MetricPair> pairs) {
  std::vector<double> differences(kBootstrapResamples);
  for (const MetricPair& pair : pairs) {
    const RandomStream random = StreamOf(pair, "paired_bootstrap");
    std::vector<size_t> indices(NumExamples(*pair.run));
    for (int r = 0; r < kBootstrapResamples; ++r) {
      Draw(random, r, absl::MakeSpan(indices));
      differences[r] +=
          (pair.run->ValueOf(indices) - pair.baseline->ValueOf(indices)) /
          static_cast<double>(pairs.size());
    }
  }
  return differences;
}

// The difference after random swaps.
double SwappedDifference(const MetricPair& pair, const RandomStream& random,
                         uint64_t trial, std::vector<double>* sums) {
  const Aggregate& aggregate = *pair.run->aggregate;
  const auto width = static_cast<size_t>(aggregate.width);
  const size_t examples = NumExamples(*pair.run);
  const uint64_t words = (examples + 63) / 64;
  sums->assign(2 * width, 0);
  double* const first = sums->data();
  double* const second = first + width;
  const double* ours = pair.run->statistics.data();
  const double* theirs = pair.baseline->statistics.data();
  uint64_t bits = 0;
  for (size_t i = 0; i < examples; ++i, ours += width, theirs += width) {
    if (i % 64 == 0) bits = random.BitsAt(trial * words + i / 64);
    const bool swap = (bits >> (i % 64) & 1) != 0;
    const double* const to_first = swap ? theirs : ours;
    const double* const to_second = swap ? ours : theirs;
    for (size_t j = 0; j < width; ++j) {
      first[j] += to_first[j];
      second[j] += to_second[j];
    }
  }
  return aggregate.value({first, width}) - aggregate.value({second, width});
}

std::vector<double> RandomizedDifferences(absl::Span<const MetricPair> pairs) {
  std::vector<double> differences(kRandomizationTrials);
  std::vector<double> sums;
  for (const MetricPair& pair : pairs) {
    const RandomStream random = StreamOf(pair, "approximate_randomization");
    for (int trial = 0; trial < kRandomizationTrials; ++trial) {
      differences[trial] += SwappedDifference(pair, random, trial, &sums) /
                            static_cast<double>(pairs.size());
    }
  }
  return differences;
}

// The share of `values` that are at least `seen`, those of the data included.
// Values that are equal on paper count as equal, however they are rounded.
double PValue(absl::Span<const double> values, double seen, double scale) {
  const double least = seen - 1e-10 * scale;
  const auto extreme = std::count_if(values.begin(), values.end(),
                                     [&](double v) { return v >= least; });
  return static_cast<double>(extreme + 1) /
         static_cast<double>(values.size() + 1);
}

}  // namespace

std::string ConfidenceText(const Confidence& confidence) {
  return absl::StrFormat("%s ± %.2g", FormatMetric(confidence.mean),
                         confidence.half_width);
}

Confidence ConfidenceOf(std::vector<double> values) {
  REGARD_CHECK(!values.empty()) << "no values";
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  // NaN has no place in an order.
  if (!std::isfinite(sum)) return {.mean = sum, .half_width = std::nan("")};
  std::sort(values.begin(), values.end());
  const size_t lower = values.size() / 40;
  const size_t upper = values.size() - lower - 1;
  return {.mean = sum / static_cast<double>(values.size()),
          .half_width = (values[upper] - values[lower]) / 2};
}

Confidence BootstrapConfidence(const ExampleMetric& metric,
                               absl::Span<const size_t> examples,
                               uint64_t seed) {
  REGARD_CHECK(!examples.empty()) << metric.name;
  const RandomStream random(seed, "bootstrap");
  std::vector<size_t> indices(examples.size());
  std::vector<double> values;
  for (int r = 0; r < kBootstrapResamples; ++r) {
    Draw(random, r, absl::MakeSpan(indices));
    for (size_t& index : indices) index = examples[index];
    values.push_back(metric.ValueOf(indices));
  }
  return ConfidenceOf(std::move(values));
}

std::map<std::string, Confidence> BootstrapConfidence(
    absl::Span<const EvaluatedSet> sets, uint64_t seed) {
  std::map<std::string, Confidence> intervals;
  for (const EvaluatedSet& set : sets) {
    std::vector<size_t> all(set.examples.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (all.empty()) continue;
    for (const ExampleMetric& metric : set.metrics) {
      intervals[metric.name] = BootstrapConfidence(metric, all, seed);
    }
  }
  return intervals;
}

uint64_t ExamplesKey(const EvaluatedSet& set) {
  uint64_t key = kHashSeed;
  for (const EvaluatedExample& example : set.examples) {
    for (const std::string* text : {&example.input, &example.reference}) {
      key = Hash(*text, Hash(text->size(), key));
    }
  }
  return key;
}

PairedTests ComparePaired(absl::Span<const MetricPair> pairs) {
  REGARD_CHECK(!pairs.empty()) << "nothing to compare";
  PairedTests tests;
  double scale = 0;
  for (const auto& [run, baseline, key] : pairs) {
    REGARD_CHECK_EQ(run->statistics.size(), baseline->statistics.size());
    REGARD_CHECK(!run->statistics.empty()) << run->name;
    const double ours = run->Value();
    const double theirs = baseline->Value();
    tests.difference += (ours - theirs) / static_cast<double>(pairs.size());
    scale = std::max({scale, std::abs(ours), std::abs(theirs)});
  }
  // Of what is not a number nothing can be said: the p-values stay at 1.
  if (!std::isfinite(tests.difference)) {
    tests.resampled = {std::nan(""), std::nan("")};
    return tests;
  }
  const double seen = std::abs(tests.difference);
  std::vector<double> differences = ResampledDifferences(pairs);
  tests.resampled = ConfidenceOf(differences);
  double mean = 0;
  for (double& difference : differences) {
    difference = std::abs(difference);
    mean += difference / static_cast<double>(differences.size());
  }
  for (double& difference : differences) difference -= mean;
  tests.bootstrap_p = PValue(differences, seen, scale);
  differences = RandomizedDifferences(pairs);
  for (double& difference : differences) difference = std::abs(difference);
  tests.randomization_p = PValue(differences, seen, scale);
  return tests;
}

}  // namespace regard
