// The report of an ablation, which depends on the grid alone.
#ifndef EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
#define EXPERIMENTS_ABLATION_ABLATION_REPORT_H_

#include <string>
#include <vector>

#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"

namespace regard {

// Without curves and maps in its Markdown.
Report AblationReport(const Grid& grid);

// One line for each run, RFC 4180: coordinates, seed, state and every metric in
// full; cells without a number are empty.
std::string AblationCsv(const Grid& grid);

// For each metric that changed over time, the mean of each cell's finished runs
// with a band from the lowest to the highest, at the steps that all of them
// measured.
std::vector<Plot> CurvePlots(const Grid& grid);

// What the cells of a grid attended to in up to two sources that at least two
// of them show, those of most cells first: a caution, a note on which cells are
// left out, and Maps called like the cells. All runs are of one seed, the first
// that has any maps: seeds may have data of their own.
std::vector<Section> AttentionSideBySide(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
