// Figures of an HTML page: plots, heat maps and pictures. The script of the
// page draws plots and heat maps from JSON. Also draws a heat map as pixels.
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

// PlotFigure() and HeatMapFigure() return a <figure> element, and append to
// `figures` the JSON that the script draws. The id of the element is "f"
// followed by the index of the JSON in `figures`.

// Returns a figure with an empty canvas. A line with many points is thinned:
// each of 500 segments keeps its minimum, maximum and first gap, so that spikes
// and gaps remain visible. CHECK-fails if the numbers of xs and ys of a series
// differ.
std::string PlotFigure(const Plot& plot, nlohmann::ordered_json& figures);

// Returns a figure with a legend. Values are rounded to thousandths, or to
// three significant digits of the largest value if it is small. Each row shows
// its sum, unless there are negative values. Without JavaScript, characters of
// different shades represent the weights. CHECK-fails if the size of a head is
// not rows x columns.
std::string HeatMapFigure(const LabelledMatrix& map,
                          nlohmann::ordered_json& figures);

// Returns a <figure> element with an embedded image. Each cell is tinted in
// proportion to its weight, and shows the weight when the pointer is on it.
// Gold blocks are outlined. CHECK-fails if the sizes do not match.
std::string WeightedImageFigure(const WeightedImage& picture);

// Returns the content of the <svg> element of a picture. The unit is a pixel of
// the image. CHECK-fails if the sizes do not match.
std::string WeightedImageSvg(const WeightedImage& picture);

// The range of a colour scale. `largest` is 1, or the largest weight of all
// heads if that is below 1/2. If any weight is negative, `largest` is the
// largest absolute value. Values that are not finite are ignored.
struct ColorScaleRange {
  double largest = 0;
  bool is_signed = false;  // whether a second scale shows negative values
};

ColorScaleRange ScaleOf(const LabelledMatrix& map);

// Returns the colour of a weight on a light page. `largest` is the end of the
// colour scale. Negative weights have a second scale. Values that are not
// finite are grey.
using Rgb = std::array<uint8_t, 3>;
Rgb ColorOf(double weight, double largest);

// Returns the title of a map. If the map has a hook point, its full name is a
// part of the title: "decoder/layers[0]/self/attention/weights: the text".
std::string FullTitle(const LabelledMatrix& map);

// A heat map as pixels, for image viewers.
struct HeatMapImage {
  int height;
  int width;
  std::vector<uint8_t> rgb = {};  // [height, width, 3], row-major
};

// Draws each weight of a head as a square of one colour, row 0 at the top,
// without labels. A square has 1 to 8 pixels per side. The longer side of the
// image has at most 256 pixels, unless there are more squares. Uses the colours
// of light pages, and grey for values that are not finite. Gold cells have a
// border if there is space. `map` must have at least one cell, and the head
// must have rows x columns weights.
HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_FIGURE_H_
