// Draws a matrix of weights as a heat map in SVG, for a page.
#ifndef EXPERIMENTS_REPORT_HEAT_MAP_H_
#define EXPERIMENTS_REPORT_HEAT_MAP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"

namespace regard {

// A <figure> with one drawing per head and, for several heads, buttons that
// choose one without a script. `id` is unique in the page, of letters, digits
// and hyphens. Colours run from 0 to 1, or to the largest weight where that is
// below 1/2; with a negative value among them, a second ramp shows those, and
// both run to the largest absolute value. The legend says which. Gold cells are
// outlined, and the sum of each row stands at its end, but for a map with
// negative values. heat_map.js shows the value of the cell under the pointer.
// Of over 32 heads the first 32 are drawn, and the legend says so. CHECK-fails
// when a head's size is not rows x columns.
std::string HeatMapFigure(const LabelledMatrix& map, absl::string_view id);

// The style that all heat maps of a page share: ramps for light and for dark
// pages, each of steadily changing lightness, so that it can be read with
// any kind of colour vision.
std::string HeatMapStyle();

// A matrix as pixels, for viewers of images.
struct HeatMapImage {
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb = {};  // [height, width, 3], row-major
};

// Squares of one colour, rows from the top, of a side that keeps the image
// below about 256 pixels where that is possible; without labels. Colours are
// those of light pages; what is not finite is grey, gold cells have a border
// where there is room for one. `map` has a cell, and the head has
// rows x columns.
HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_HEAT_MAP_H_
