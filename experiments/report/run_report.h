// The report of a run, as an HTML page and as text.
#ifndef EXPERIMENTS_REPORT_RUN_REPORT_H_
#define EXPERIMENTS_REPORT_RUN_REPORT_H_

#include <string>

#include "experiments/report/reported_run.h"
#include "experiments/report/terminal_text.h"

namespace regard {

// Returns one HTML page that works offline.
std::string RunReportHtml(const ReportedRun& report);

// Returns a text for terminals, which ends with a newline. Omits empty parts.
// Lines fit into the width of `style` unless a word is too long.
std::string RunReportText(const ReportedRun& report,
                          const AlignmentTextStyle& style);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_REPORT_H_
