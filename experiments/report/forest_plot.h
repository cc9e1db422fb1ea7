// Draws a forest plot of one metric. The plot shows the values of the runs of
// several arms, and the difference of each arm from the baseline.
#ifndef EXPERIMENTS_REPORT_FOREST_PLOT_H_
#define EXPERIMENTS_REPORT_FOREST_PLOT_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// Returns a <figure> element with an inline <svg>, which needs no script. Omits
// values that are not finite.
std::string ForestFigure(const ForestPlot& plot);

// Returns the content of the plot as a table, one row per arm.
Table ForestTable(const ForestPlot& plot);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_FOREST_PLOT_H_
