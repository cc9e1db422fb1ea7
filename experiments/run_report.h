// The page that a run leaves behind, and what it prints at its end.
#ifndef EXPERIMENTS_RUN_REPORT_H_
#define EXPERIMENTS_RUN_REPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "experiments/report/end_of_run.h"
#include "experiments/run/metrics_log.h"
#include "experiments/task.h"

namespace regard {

struct RunReport {
  std::string name;
  Showcase showcase;
  std::vector<Explanation> explanations;
  // Last value of each metric.
  std::map<std::string, double> metrics;
  // Of the baseline, by the same names; may be empty.
  std::string baseline_name;
  std::map<std::string, double> baseline_metrics;
  std::vector<MetricsRecord> records;
  std::string resolved_config;
};

// One offline page.
std::string RunReportHtml(const RunReport& report);

// Paths are for the text alone.
EndOfRun RunReportText(const RunReport& report, const std::string& run_path,
                       const std::string& report_path);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_REPORT_H_
