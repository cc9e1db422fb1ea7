// Sections of a report about the examples of a data set: a metric by the length
// of the input, and the worst and best examples.
#ifndef EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_
#define EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "optimization/evaluated_set.h"

namespace regard {

// The results of a run on an evaluated set.
struct EvaluatedSetOfRun {
  std::string name = {};  // name of the run
  const EvaluatedSet* set = nullptr;
};

// A metric by ranges of input lengths.
struct MetricByLengthFigure {
  Plot plot = {};
  Table table = {};  // one row per range
};

// Computes the first metric of the sets by the length of the input. The sets
// must have the same examples. Divides the lengths into at most eight ranges.
// The last range includes the longest 2 % of the examples. Bands and brackets
// are 95 % bootstrap intervals with the given seed. The result has no rows if
// there are fewer than two ranges, or no metric.
MetricByLengthFigure MeasureByLength(absl::Span<const EvaluatedSetOfRun> runs,
                                     uint64_t seed);

// Returns up to five of the worst and up to five of the best examples. Uses the
// first metric of single examples for which `infos` states whether lower or
// higher is better. header[1] is the name of this metric. The result has no
// rows if `infos` has no such metric.
Table WorstAndBest(const EvaluatedSet& set, absl::Span<const MetricInfo> infos);

// Whether two sets have the same metrics, inputs and references.
bool HaveSameExamples(const EvaluatedSet& a, const EvaluatedSet& b);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_
