// Collects the metrics of an evaluation for tests.
#ifndef OPTIMIZATION_TESTING_METRICS_OF_H_
#define OPTIMIZATION_TESTING_METRICS_OF_H_

#include <map>
#include <string>
#include <vector>

#include "optimization/evaluated_set.h"

namespace regard {

// Returns the metrics of all sets by name. The names must differ.
inline std::map<std::string, double> MetricsOf(
    const std::vector<EvaluatedSet>& sets) {
  std::map<std::string, double> metrics;
  for (const EvaluatedSet& set : sets) {
    metrics.insert(set.totals.begin(), set.totals.end());
    for (const MetricOverExamples& metric : set.metrics) {
      metrics[metric.name] = metric.Value();
    }
  }
  return metrics;
}

}  // namespace regard

#endif  // OPTIMIZATION_TESTING_METRICS_OF_H_
