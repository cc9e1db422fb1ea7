// Draws curves and points: a still picture for every reader, and the numbers
// for the script that makes it interactive.
#ifndef EXPERIMENTS_REPORT_PLOT_H_
#define EXPERIMENTS_REPORT_PLOT_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// A <figure> with an SVG drawing and the same data as JSON, which page.js
// replaces by a Chart.js canvas. A line of many points is thinned to the
// smallest and largest value of each stretch, so spikes survive. CHECK-fails
// when a series has not as many ys as xs.
std::string PlotFigure(const Plot& plot);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PLOT_H_
