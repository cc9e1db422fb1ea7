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
Report AblationReport(const ResultGrid& grid);

// Returns the runs as CSV (RFC 4180), one line each, with its coordinates,
// seed, state and metrics. Metrics have all digits. A missing metric is an
// empty cell.
std::string AblationCsv(const ResultGrid& grid);

// Returns a plot for each metric that changed over time. A curve is the mean
// over the finished runs of a cell, with a band from the minimum to the
// maximum. A curve contains the steps at which all of these runs measured the
// metric.
std::vector<Plot> CurvePlots(const ResultGrid& grid);

// Returns up to two sections, each of which compares the attention maps of
// several cells for one input. A map belongs to the input that its title names.
// Inputs for which more cells have maps come first. A section contains a
// caution, a note that also names omitted cells, and the maps, with the names
// of their cells as titles. All maps are from the first seed whose runs have
// maps, because the data may differ between seeds.
std::vector<Section> AttentionSideBySide(const ResultGrid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
