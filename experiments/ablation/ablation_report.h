// Writes the report of an ablation as a page, as Markdown and as CSV. The
// report depends only on the grid.
#ifndef EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
#define EXPERIMENTS_ABLATION_ABLATION_REPORT_H_

#include <string>
#include <vector>

#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"

namespace regard {

// Returns the report. Rendering it as Markdown omits curves and maps.
Report AblationReport(const Grid& grid);

// Returns one line for each run (RFC 4180) with its coordinates, seed, state
// and every metric with all digits. A missing metric is an empty cell.
std::string AblationCsv(const Grid& grid);

// Returns a plot for each metric that changed over time. A curve is the mean
// over the finished runs of a cell, with a band from the minimum to the
// maximum. It contains the steps at which all of these runs measured the
// metric.
std::vector<Plot> CurvePlots(const Grid& grid);

// Returns up to two sections. Each compares the maps of one input between
// cells. The title of a map is its input. At least two cells must have maps of
// an input. Inputs with maps from more cells come first. A section contains a
// caution, a note about omitted cells, and Maps with the names of the cells.
// All maps are from the first seed whose runs have maps, because the data may
// differ between seeds.
std::vector<Section> AttentionSideBySide(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
