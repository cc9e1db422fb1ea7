// The report of an ablation as a page, as Markdown and as CSV. It depends only
// on the grid.
#ifndef EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
#define EXPERIMENTS_ABLATION_ABLATION_REPORT_H_

#include <string>
#include <vector>

#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"

namespace regard {

// Returns the report. Its Markdown omits curves and maps.
Report AblationReport(const Grid& grid);

// Returns one line for each run (RFC 4180): coordinates, seed, state and every
// metric with all digits. A missing metric is an empty cell.
std::string AblationCsv(const Grid& grid);

// Returns a plot for each metric that changed over time. A curve is the mean
// over the finished runs of a cell, with a band from the minimum to the
// maximum. It has only those steps that all of these runs measured.
std::vector<Plot> CurvePlots(const Grid& grid);

// Compares the attention of the cells on up to two sources. A source must be
// shown by at least two cells; sources of more cells come first. The sections
// contain a caution, a note about omitted cells, and Maps with the names of the
// cells. All runs have the same seed, the first with any maps, because each
// seed may have its own data.
std::vector<Section> AttentionSideBySide(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
