// An inspection as a page and for a terminal.
#ifndef EXPERIMENTS_INSPECTION_REPORT_H_
#define EXPERIMENTS_INSPECTION_REPORT_H_

#include <string>

#include "experiments/inspection.h"
#include "experiments/report/alignment_text.h"

namespace regard {

// For a terminal, each line ended.
std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style);

// One offline page; `name` is the experiment's.
std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name);

}  // namespace regard

#endif  // EXPERIMENTS_INSPECTION_REPORT_H_
