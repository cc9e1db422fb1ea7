// The result of an evaluation of a data set: the output of the model for each
// example, and the metrics computed from the outputs.
//
// A metric that is a function of sums over examples is stored as its
// statistics, which are the terms of these sums. The metric can then be
// computed without the models: for a part of the set, for resamples, and for a
// mixture of two models' results.
#ifndef OPTIMIZATION_EVALUATED_SET_H_
#define OPTIMIZATION_EVALUATED_SET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// Computes a metric from the sums of its statistics.
struct Aggregate {
  const char* name;  // name in files, such as "bleu"
  int width;         // number of statistics per example
  double (*value)(absl::Span<const double> sums);
};

// The known aggregates by name. They are constants that are never destroyed.
using Aggregates = std::map<std::string, const Aggregate*>;

double RatioOfSums(absl::Span<const double> sums);

// sums[0] / sums[1], or 0 if sums[1] is 0. Used for means and fractions.
inline constexpr Aggregate kRatio = {"ratio", 2, &RatioOfSums};

struct MetricOverExamples {
  std::string name = {};  // name without the prefix of the split: "exact_match"
  const Aggregate* aggregate = &kRatio;
  // Whether the metric of a single example is meaningful.
  bool of_single_examples = false;
  std::vector<double> statistics = {};  // [examples, width], row-major

  // Appends the statistics of an example. Their number must be the width of the
  // aggregate.
  void Add(absl::Span<const double> statistics_of_example);

  absl::Span<const double> StatisticsOf(size_t example) const {
    return absl::MakeConstSpan(statistics)
        .subspan(example * static_cast<size_t>(aggregate->width),
                 static_cast<size_t>(aggregate->width));
  }

  // Return the metric over `examples` (which may repeat), over all examples, or
  // for one example.
  double ValueOf(absl::Span<const size_t> examples) const;
  double Value() const;
  double ValueOf(size_t example) const {
    return aggregate->value(StatisticsOf(example));
  }
};

// The texts of an example, for people to read, and its length.
struct ExampleTexts {
  std::string input = {};
  std::string reference = {};  // empty if there is no reference
  std::string output = {};     // the output of the model
  int64_t length = 0;          // length of the input, in the unit of the set
};

struct EvaluatedSet {
  // The name of one of several data sets of a split, such as "news" in
  // "test.news/bleu".
  std::string set = {};
  std::string length_unit = {};  // a unit such as "source words"
  std::vector<ExampleTexts> examples = {};
  // Reports show how the first metric depends on the length. The first metric
  // whose `of_single_examples` is true selects good and bad examples.
  std::vector<MetricOverExamples> metrics = {};
  // Other metrics of the whole set, by name.
  std::map<std::string, double> totals = {};
};

}  // namespace regard

#endif  // OPTIMIZATION_EVALUATED_SET_H_
