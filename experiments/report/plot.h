// Curves and points for a page: the numbers, which the page's script draws.
#ifndef EXPERIMENTS_REPORT_PLOT_H_
#define EXPERIMENTS_REPORT_PLOT_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// A <figure> with a canvas, a legend and the numbers as JSON, which page.js
// draws by Chart.js. A line of many points is thinned to the smallest and
// largest value of each stretch, so spikes survive. CHECK-fails when a series
// has not as many ys as xs.
std::string PlotFigure(const Plot& plot);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PLOT_H_
