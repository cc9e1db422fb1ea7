// What a report shows of the examples of a data set: a metric by the length of
// the input, and the worst and best examples.
#ifndef EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_
#define EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "optimization/evaluated_set.h"

namespace regard {

// What a run made of a set.
struct NamedSet {
  std::string name = {};  // of the run
  const EvaluatedSet* set = nullptr;
};

// A metric of parts of a set.
struct ByLength {
  Plot plot = {};
  Table table = {};  // a row for each part
};

// The first metric of the sets, which are of the same examples, for at most
// eight ranges of lengths. Bands and brackets are 95 % intervals of a bootstrap
// with this seed. The last range takes what is longer than 98 % of the
// examples. Without rows where there are fewer than two ranges or no metric.
ByLength MeasureByLength(absl::Span<const NamedSet> runs, uint64_t seed);

// Up to five examples of either kind by the first metric of single examples of
// which `infos` say whether lower or higher is better. Its name is header[1].
// Without rows where there is no such metric.
Table WorstAndBest(const EvaluatedSet& set, absl::Span<const MetricInfo> infos);

// Whether two sets have the same metrics, inputs and references.
bool SameExamples(const EvaluatedSet& a, const EvaluatedSet& b);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_EXAMPLES_REPORT_H_
