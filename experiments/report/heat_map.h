// The colours of heat maps, and a matrix of weights as an image.
#ifndef EXPERIMENTS_REPORT_HEAT_MAP_H_
#define EXPERIMENTS_REPORT_HEAT_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/report/run_results.h"

namespace regard {

// What the end of the ramp of colours stands for: 1, or the largest weight of
// all heads where that is below 1/2; with a negative value among them, the
// largest absolute value. What is not finite does not count.
struct ColorScale {
  double largest = 1;
  bool is_signed = false;  // a second ramp shows negative values
};

ColorScale ScaleOf(const LabelledMatrix& map);

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
