// What a run leaves and prints at its end: the page and the text.
#ifndef EXPERIMENTS_REPORT_RUN_REPORT_H_
#define EXPERIMENTS_REPORT_RUN_REPORT_H_

#include <string>

#include "experiments/report/reported_run.h"
#include "experiments/report/terminal_text.h"

namespace regard {

// One offline page.
std::string RunReportHtml(const RunReport& report);

// For a terminal. Ends with a newline; parts that are empty are left out. Fits
// into `style`'s width as far as words allow.
std::string RunReportText(const RunReport& report,
                          const AlignmentTextStyle& style);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_RUN_REPORT_H_
