// The figures of a page. Plots and heat maps are drawn by the page's script
// from JSON; pictures need none.
#ifndef EXPERIMENTS_REPORT_FIGURE_H_
#define EXPERIMENTS_REPORT_FIGURE_H_

#include <string>

#include "experiments/report/run_results.h"
#include "nlohmann/json.hpp"

namespace regard {

// Each returns a <figure>, whose id is "f" and its index among `figures`, and
// adds to these what the script draws into it.

// With an empty canvas. A line of many points is thinned to the smallest and
// largest value of each stretch, so spikes survive. CHECK-fails when a series
// has not as many ys as xs.
std::string PlotFigure(const Plot& plot, nlohmann::ordered_json& figures);

// With a legend. Values are in thousandths, each row with its sum, unless there
// are negative values. Without a script, shades of characters stand for
// weights. CHECK-fails when a head's size is not rows x columns.
std::string HeatMapFigure(const LabelledMatrix& map,
                          nlohmann::ordered_json& figures);

// A <figure> whose image is a part of the page. Cells are tinted by their share
// of the largest weight and tell their weight when pointed at; gold blocks
// are outlined. CHECK-fails on sizes that do not fit.
std::string PictureFigure(const Picture& picture);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_FIGURE_H_
