#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Fills `indices` with random indices below its size, drawn with replacement.
void Draw(const RandomStream& random, int resample,
          absl::Span<size_t> indices) {
  const size_t size = indices.size();
  const uint64_t first = static_cast<uint64_t>(resample) * size;
  for (size_t i = 0; i < size; ++i) {
    indices[i] = random.UniformIntAt(first + i, size);
  }
}

size_t NumExamples(const MetricOverExamples& metric) {
  return metric.statistics.size() /
         static_cast<size_t>(metric.aggregate->width);
}

// Tosses a fair coin for each i in 0 .. count - 1, and calls visit(i, heads).
template <typename Visit>
void TossCoins(const RandomStream& random, int trial, size_t count,
               const Visit& visit) {
  const uint64_t words = (count + 63) / 64;
  uint64_t bits = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i % 64 == 0) {
      bits = random.BitsAt(static_cast<uint64_t>(trial) * words + i / 64);
    }
    visit(i, (bits >> (i % 64) & 1) != 0);
  }
}

// The distinct examples of all pairs, numbered from 0 in order of appearance.
struct Units {
  uint64_t key = kHashSeed;  // key of the only set, or of all sets
  size_t count = 0;
  std::vector<std::vector<size_t>> of_pairs;  // the unit of each example
};

Units UnitsOf(absl::Span<const ExampleMetricPair> pairs) {
  Units units;
  std::map<uint64_t, size_t> numbers;
  std::set<uint64_t> sets;
  for (const ExampleMetricPair& pair : pairs) {
    const size_t size = NumExamples(*pair.run);
    REGARD_CHECK(pair.examples.empty() || pair.examples.size() == size)
        << pair.run->name;
    std::vector<size_t>& of_pair = units.of_pairs.emplace_back();
    for (size_t i = 0; i < size; ++i) {
      const uint64_t example =
          pair.examples.empty() ? Hash(i, pair.key) : pair.examples[i];
      of_pair.push_back(
          numbers.try_emplace(example, numbers.size()).first->second);
    }
    if (sets.insert(pair.key).second) units.key = Hash(pair.key, units.key);
  }
  if (sets.size() == 1) units.key = pairs[0].key;
  units.count = numbers.size();
  return units;
}

// Returns the difference in each resample, averaged over the pairs.
std::vector<double> ResampledDifferences(
    absl::Span<const ExampleMetricPair> pairs, const Units& units) {
  const RandomStream random(units.key, "paired_bootstrap");
  const size_t absent = units.count;
  // The index of each unit's example in each pair, or `absent`.
  std::vector<std::vector<size_t>> examples;
  for (const std::vector<size_t>& of_pair : units.of_pairs) {
    std::vector<size_t>& places = examples.emplace_back(units.count, absent);
    for (size_t i = 0; i < of_pair.size(); ++i) places[of_pair[i]] = i;
  }
  std::vector<size_t> drawn(units.count);
  std::vector<size_t> indices;
  std::vector<double> means(kBootstrapResamples);
  for (int resample = 0; resample < kBootstrapResamples; ++resample) {
    Draw(random, resample, absl::MakeSpan(drawn));
    for (size_t p = 0; p < pairs.size(); ++p) {
      indices.clear();
      for (const size_t unit : drawn) {
        const size_t i = examples[p][unit];
        if (i != absent) indices.push_back(i);
      }
      means[resample] += (pairs[p].run->ValueOf(indices) -
                          pairs[p].baseline->ValueOf(indices)) /
                         static_cast<double>(pairs.size());
    }
  }
  return means;
}

double SwappedDifference(const ExampleMetricPair& pair,
                         const std::vector<size_t>& units,
                         const std::vector<bool>& swapped) {
  const Aggregate& aggregate = *pair.run->aggregate;
  const auto width = static_cast<size_t>(aggregate.width);
  std::vector<double> first(width);
  std::vector<double> second(width);
  const double* ours = pair.run->statistics.data();
  const double* theirs = pair.baseline->statistics.data();
  for (const size_t unit : units) {
    const bool swap = swapped[unit];
    for (size_t j = 0; j < width; ++j) {
      first[j] += (swap ? theirs : ours)[j];
      second[j] += (swap ? ours : theirs)[j];
    }
    ours += width;
    theirs += width;
  }
  return aggregate.value(first) - aggregate.value(second);
}

// Returns the difference in each trial, averaged over the pairs, after the
// results of random units were swapped.
std::vector<double> SwappedDifferences(
    absl::Span<const ExampleMetricPair> pairs, const Units& units) {
  const RandomStream random(units.key, "approximate_randomization");
  std::vector<bool> swapped(units.count);
  std::vector<double> means(kRandomizationTrials);
  for (int trial = 0; trial < kRandomizationTrials; ++trial) {
    TossCoins(random, trial, units.count,
              [&](size_t unit, bool swap) { swapped[unit] = swap; });
    for (size_t p = 0; p < pairs.size(); ++p) {
      means[trial] += SwappedDifference(pairs[p], units.of_pairs[p], swapped) /
                      static_cast<double>(pairs.size());
    }
  }
  return means;
}

// Returns the fraction of values that are at least `seen`. `seen` itself counts
// as an additional value. Values that are mathematically equal count as equal
// in spite of rounding errors.
double PValue(absl::Span<const double> values, double seen, double scale) {
  const double least = seen - 1e-10 * scale;
  const auto extreme = std::count_if(values.begin(), values.end(),
                                     [&](double v) { return v >= least; });
  return static_cast<double>(extreme + 1) /
         static_cast<double>(values.size() + 1);
}

}  // namespace

std::string FormatMetric(double value) {
  // Doubles represent every whole number up to this limit exactly.
  constexpr double kExactWholes = 1e15;
  if (value == std::floor(value) && std::abs(value) < kExactWholes) {
    return absl::StrFormat("%.0f", value);
  }
  return absl::StrFormat("%.4g", value);
}

std::string ConfidenceText(const ConfidenceInterval& confidence) {
  return absl::StrFormat("%s [%s, %s]", FormatMetric(confidence.mean),
                         FormatMetric(confidence.low),
                         FormatMetric(confidence.high));
}

ConfidenceInterval ComputeConfidenceInterval(std::vector<double> values) {
  REGARD_CHECK(!values.empty()) << "no values";
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  // NaN cannot be sorted.
  const double none = std::nan("");
  if (!std::isfinite(sum)) return {sum, none, none, none};
  std::sort(values.begin(), values.end());
  const size_t lower = values.size() / 40;
  const size_t upper = values.size() - lower - 1;
  return {.mean = sum / static_cast<double>(values.size()),
          .half_width = (values[upper] - values[lower]) / 2,
          .low = values[lower],
          .high = values[upper]};
}

ConfidenceInterval BootstrapConfidence(const MetricOverExamples& metric,
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
  return ComputeConfidenceInterval(std::move(values));
}

std::map<std::string, ConfidenceInterval> BootstrapConfidence(
    absl::Span<const EvaluatedSet> sets, uint64_t seed) {
  std::map<std::string, ConfidenceInterval> intervals;
  for (const EvaluatedSet& set : sets) {
    std::vector<size_t> all(set.examples.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (all.empty()) continue;
    for (const MetricOverExamples& metric : set.metrics) {
      intervals[metric.name] = BootstrapConfidence(metric, all, seed);
    }
  }
  return intervals;
}

uint64_t ExamplesKey(const EvaluatedSet& set) {
  uint64_t key = kHashSeed;
  for (const ExampleTexts& example : set.examples) {
    for (const std::string* text : {&example.input, &example.reference}) {
      key = Hash(*text, Hash(text->size(), key));
    }
  }
  return key;
}

std::vector<uint64_t> ExampleKeys(const EvaluatedSet& set) {
  std::map<uint64_t, size_t> before;
  std::vector<uint64_t> keys;
  for (const ExampleTexts& example : set.examples) {
    uint64_t key = kHashSeed;
    for (const std::string* text : {&example.input, &example.reference}) {
      key = Hash(*text, Hash(text->size(), key));
    }
    keys.push_back(Hash(before[key]++, key));
  }
  return keys;
}

PairedTests ComparePaired(absl::Span<const ExampleMetricPair> pairs) {
  REGARD_CHECK(!pairs.empty()) << "nothing to compare";
  PairedTests tests;
  double scale = 0;
  for (const auto& [run, baseline, key, examples] : pairs) {
    REGARD_CHECK_EQ(run->statistics.size(), baseline->statistics.size());
    REGARD_CHECK(!run->statistics.empty()) << run->name;
    const double ours = run->Value();
    const double theirs = baseline->Value();
    tests.difference += (ours - theirs) / static_cast<double>(pairs.size());
    scale = std::max({scale, std::abs(ours), std::abs(theirs)});
  }
  // If the difference is not finite, the p-values stay 1.
  if (!std::isfinite(tests.difference)) {
    tests.resampled = ComputeConfidenceInterval({tests.difference});
    return tests;
  }
  const double seen = std::abs(tests.difference);
  const Units units = UnitsOf(pairs);
  std::vector<double> differences = ResampledDifferences(pairs, units);
  tests.resampled = ComputeConfidenceInterval(differences);
  double mean = 0;
  for (double& difference : differences) {
    difference = std::abs(difference);
    mean += difference / static_cast<double>(differences.size());
  }
  for (double& difference : differences) difference -= mean;
  tests.bootstrap_p = PValue(differences, seen, scale);
  differences = SwappedDifferences(pairs, units);
  for (double& difference : differences) difference = std::abs(difference);
  tests.randomization_p = PValue(differences, seen, scale);
  return tests;
}

double PairedPermutationTest(absl::Span<const double> differences) {
  const size_t n = differences.size();
  double sum = 0;
  double scale = 0;
  for (const double difference : differences) {
    sum += difference;
    scale += std::abs(difference);
  }
  if (n == 0 || !std::isfinite(scale)) return std::nan("");
  // Sums that are mathematically equal count as equal in spite of rounding
  // errors.
  const double seen = std::abs(sum) - 1e-12 * scale;
  const bool exact = n <= kMaxExactPairs;
  // Flipping all signs gives the same absolute sum, so half of the choices
  // suffice.
  const int choices = exact ? 1 << (n - 1) : kRandomChoices;
  const RandomStream random(0, "permutation_test");
  // A random sample does not contain the observed signs, which therefore count
  // as an additional choice.
  const int besides = exact ? 0 : 1;
  int extreme = besides;
  for (int choice = 0; choice < choices; ++choice) {
    double flipped = 0;
    const auto add = [&](size_t i, bool flip) {
      flipped += flip ? -differences[i] : differences[i];
    };
    if (exact) {
      for (size_t i = 0; i < n; ++i) add(i, (choice >> i & 1) != 0);
    } else {
      TossCoins(random, choice, n, add);
    }
    if (std::abs(flipped) >= seen) ++extreme;
  }
  return static_cast<double>(extreme) / static_cast<double>(choices + besides);
}

std::optional<DifferenceInterval> PermutationInterval(
    absl::Span<const double> differences) {
  const size_t n = differences.size();
  const bool exact = n <= kMaxExactPairs;
  const size_t subsets = exact ? (size_t{1} << n) - 1 : kRandomChoices;
  const auto outside = static_cast<size_t>(kSignificanceLevel / 2 *
                                           static_cast<double>(subsets + 1));
  if (outside == 0 || !std::ranges::all_of(differences, [](double difference) {
        return std::isfinite(difference);
      })) {
    return std::nullopt;
  }
  const RandomStream random(0, "permutation_interval");
  std::vector<double> means;
  means.reserve(subsets);
  for (size_t subset = 1; subset <= subsets; ++subset) {
    double sum = 0;
    int members = 0;
    const auto add = [&](size_t i, bool is_member) {
      if (!is_member) return;
      sum += differences[i];
      ++members;
    };
    if (exact) {
      for (size_t i = 0; i < n; ++i) add(i, (subset >> i & 1) != 0);
    } else {
      TossCoins(random, static_cast<int>(subset), n, add);
    }
    if (members > 0) means.push_back(sum / members);
  }
  const auto at = [&](size_t index) {
    const auto place = means.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(means.begin(), place, means.end());
    return *place;
  };
  return DifferenceInterval{at(outside - 1), at(means.size() - outside)};
}

std::vector<double> HolmAdjusted(absl::Span<const double> p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p_values[a] < p_values[b];
  });
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  double largest = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const double factor = static_cast<double>(p_values.size() - k);
    largest = std::max(largest, factor * p_values[order[k]]);
    adjusted[order[k]] = std::min(1.0, largest);
  }
  return adjusted;
}

int SeedsForSignificance(size_t comparisons) {
  int seeds = 1;
  while (static_cast<double>(comparisons) * std::ldexp(1.0, 1 - seeds) >
         kSignificanceLevel) {
    ++seeds;
  }
  return seeds;
}

SampleSummary Summarize(absl::Span<const double> values) {
  SampleSummary summary = {.n = static_cast<int>(values.size())};
  // Without values, the mean is NaN (0 / 0).
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / summary.n;
  double squares = 0;
  for (const double value : values) {
    squares += (value - summary.mean) * (value - summary.mean);
  }
  summary.standard_deviation =
      summary.n < 2 ? std::nan("") : std::sqrt(squares / (summary.n - 1));
  return summary;
}

std::string SampleText(const SampleSummary& summary) {
  if (std::isnan(summary.standard_deviation)) return FormatMetric(summary.mean);
  return absl::StrFormat("%s (%.2g)", FormatMetric(summary.mean),
                         summary.standard_deviation);
}

}  // namespace regard
