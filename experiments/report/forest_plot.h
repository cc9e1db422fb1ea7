// A forest plot: how the runs of several arms did by one metric, and how far
// each arm is from the baseline.
#ifndef EXPERIMENTS_REPORT_FOREST_PLOT_H_
#define EXPERIMENTS_REPORT_FOREST_PLOT_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// A <figure> with an inline <svg>, which needs no script. Values that are not
// finite are left out.
std::string ForestFigure(const ForestPlot& plot);

// The same in words and numbers, a row for each arm.
Table ForestTable(const ForestPlot& plot);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_FOREST_PLOT_H_
