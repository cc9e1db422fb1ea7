// What an evaluation finds of a data set: what a model makes of each example,
// and the metrics that follow from it.
//
// A metric that is a function of sums over examples is kept as the terms of
// these sums, its statistics. It can then be computed for a part of the set,
// for resamples of it and for a mixture of two models' results, without the
// models.
#ifndef OPTIMIZATION_EVALUATED_SET_H_
#define OPTIMIZATION_EVALUATED_SET_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// How a metric follows from the sums of its statistics.
struct Aggregate {
  const char* name;  // in files: "bleu"
  int width;         // statistics of an example
  double (*value)(absl::Span<const double> sums);
};

// Known aggregates by name; they are constants that are never destroyed.
using Aggregates = std::map<std::string, const Aggregate*>;

double RatioOfSums(absl::Span<const double> sums);

// sums[0] / sums[1], or 0 where the denominator is 0: a mean or a share.
inline constexpr Aggregate kRatio = {"ratio", 2, &RatioOfSums};

struct ExampleMetric {
  std::string name = {};  // without the split's prefix: "exact_match"
  const Aggregate* aggregate = &kRatio;
  // Whether the value of a single example means something.
  bool of_single_examples = false;
  std::vector<double> statistics = {};  // [examples, width], row-major

  // Adds an example's statistics, as many as the aggregate's width.
  void Add(absl::Span<const double> statistics_of_example);

  absl::Span<const double> Of(size_t example) const {
    return absl::MakeConstSpan(statistics)
        .subspan(example * static_cast<size_t>(aggregate->width),
                 static_cast<size_t>(aggregate->width));
  }

  // Of these examples, of which one may occur several times; of all; of one.
  double ValueOf(absl::Span<const size_t> examples) const;
  double Value() const;
  double ValueOf(size_t example) const { return aggregate->value(Of(example)); }
};

// Texts are for people to read.
struct EvaluatedExample {
  std::string input = {};
  std::string reference = {};  // empty where there is none
  std::string output = {};     // of the model
  int64_t length = 0;          // of the input, in the set's unit
};

struct EvaluatedSet {
  // Names one of several data sets of a split: "news" in "test.news/bleu".
  std::string set = {};
  std::string length_unit = {};  // "source words"
  std::vector<EvaluatedExample> examples = {};
  // The first one is shown by length; the first one of single examples tells
  // good examples from bad ones.
  std::vector<ExampleMetric> metrics = {};
  // Further metrics, by name, of the set as a whole.
  std::map<std::string, double> totals = {};
};

}  // namespace regard

#endif  // OPTIMIZATION_EVALUATED_SET_H_
