// The data from which the report of a run is made, as plain structs.
#ifndef EXPERIMENTS_REPORT_REPORTED_RUN_H_
#define EXPERIMENTS_REPORT_REPORTED_RUN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evaluation/statistics.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "optimization/evaluated_set.h"

namespace regard {

struct ReportedRun {
  std::string name = {};
  Showcase showcase = {};
  std::vector<MetricInfo> metric_infos = {};
  // The last value of each metric.
  std::map<std::string, double> metrics = {};
  // The name and the metrics of the baseline. Empty if there is no baseline.
  std::string baseline_name = {};
  std::map<std::string, double> baseline_metrics = {};
  // The results of the run and of the baseline for each example.
  std::vector<EvaluatedSet> sets = {};
  std::vector<EvaluatedSet> baseline_sets = {};
  std::map<std::string, ConfidenceInterval> confidence = {};
  uint64_t seed = 0;  // seed of the confidence intervals
  std::vector<MetricsRecord> records = {};
  std::vector<std::string> notes = {};  // see ConfigProblems
  std::string resolved_config = {};
  std::string run_path = {};
  std::string report_path = {};  // empty if no report was written
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORTED_RUN_H_
