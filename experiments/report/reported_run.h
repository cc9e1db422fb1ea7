// Contents of the report of a run, as plain data.
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

struct RunReport {
  std::string name = {};
  Showcase showcase = {};
  std::vector<MetricInfo> metric_infos = {};
  // Last value of each metric.
  std::map<std::string, double> metrics = {};
  // Metrics of the baseline, by the same names; may be empty.
  std::string baseline_name = {};
  std::map<std::string, double> baseline_metrics = {};
  // Outputs and metrics of the run and the baseline for each example.
  std::vector<EvaluatedSet> sets = {};
  std::vector<EvaluatedSet> baseline_sets = {};
  std::map<std::string, Confidence> confidence = {};
  uint64_t seed = 0;  // for confidence intervals
  std::vector<MetricsRecord> records = {};
  std::vector<std::string> notes = {};  // see ConfigProblems
  std::string resolved_config = {};
  std::string run_path = {};
  std::string report_path = {};  // empty where no report was written
};

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_REPORTED_RUN_H_
