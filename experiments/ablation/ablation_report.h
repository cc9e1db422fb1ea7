// Writes the report of an ablation. The bytes depend on the grid alone.
#ifndef EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
#define EXPERIMENTS_ABLATION_ABLATION_REPORT_H_

#include <string>

#include "experiments/ablation/grid.h"

namespace regard {

// For reading in a terminal or on a code host.
std::string AblationMarkdown(const Grid& grid);

// One line for each run, RFC 4180.
std::string AblationCsv(const Grid& grid);

// One offline page with curves.
std::string AblationHtml(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
