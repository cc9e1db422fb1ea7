// The figures of a page, where plots and heat maps are drawn by the page's
// script from JSON and pictures need none; and heat maps as images.
#ifndef EXPERIMENTS_REPORT_FIGURE_H_
#define EXPERIMENTS_REPORT_FIGURE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/run_results.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Each returns a <figure>, whose id is "f" and its index among `figures`, and
// adds to these what the script draws into it.

// With an empty canvas. A line of many points is thinned to the smallest and
// largest value and the first gap of each stretch, so spikes and gaps survive.
// CHECK-fails when a series has not as many ys as xs.
std::string PlotFigure(const Plot& plot, nlohmann::ordered_json& figures);

// With a legend. Values are in thousandths, or have three digits of the largest
// one where that is smaller, each row with its sum, unless there are negative
// values. Without a script, shades of characters stand for weights. CHECK-fails
// when a head's size is not rows x columns.
std::string HeatMapFigure(const LabelledMatrix& map,
                          nlohmann::ordered_json& figures);

// A <figure> whose image is a part of the page. Cells are tinted by their share
// of the largest weight and tell their weight when pointed at; gold blocks
// are outlined. CHECK-fails on sizes that do not fit.
std::string PictureFigure(const Picture& picture);

// What is within the <svg> of a picture, whose unit is the image's pixel.
// CHECK-fails on sizes that do not fit.
std::string PictureElements(const Picture& picture);

// What the end of the ramp of colours stands for: 1, or the largest weight of
// all heads where that is below 1/2; with a negative value among them, the
// largest absolute value. What is not finite does not count.
struct ColorScale {
  double largest = 0;
  bool is_signed = false;  // a second ramp shows negative values
};

ColorScale ScaleOf(const LabelledMatrix& map);

// A weight's colour on light pages: of the ramp, whose end is `largest`, or of
// the second one if it is negative; grey if it is not finite.
using Rgb = std::array<uint8_t, 3>;
Rgb ColorOf(double weight, double largest);

// The title with the name of the hook point in full, if the map has one:
// "decoder/layers[0]/self/attention/weights: the text".
std::string ShownTitle(const LabelledMatrix& map);

// A matrix as pixels, for viewers of images.
struct HeatMapImage {
  int height;
  int width;
  std::vector<uint8_t> rgb = {};  // [height, width, 3], row-major
};

// Squares of one colour, rows from the top, of a side that keeps the image
// below about 256 pixels where that is possible; without labels. Colours are
// those of light pages; what is not finite is grey, gold cells have a border
// where there is room for one. `map` has a cell, and the head has
// rows x columns.
HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_FIGURE_H_
