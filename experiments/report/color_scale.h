// The colours that stand for weights, in pages and in images.
#ifndef EXPERIMENTS_REPORT_COLOR_SCALE_H_
#define EXPERIMENTS_REPORT_COLOR_SCALE_H_

#include "experiments/report/run_results.h"

namespace regard {

struct Rgb {
  int red = 0;
  int green = 0;
  int blue = 0;
};

// From 0 to the greatest weight, on light and on dark pages, each of steadily
// changing lightness, so that it can be read with any kind of colour vision;
// the negative ones from 0 to the most negative, as gradients are.
enum class ColorRamp { kLight, kDark, kLightNegative, kDarkNegative };

// `position` is in [0, 1].
Rgb RampColor(ColorRamp ramp, double position);

// What the ends of the ramps stand for.
struct ColorScale {
  double largest = 1;  // of absolute values
  bool is_signed = false;
};

// 1, or the largest weight of all heads where that is below 1/2; with a
// negative value among them, the largest absolute value. What is not finite
// does not count.
ColorScale ScaleOf(const LabelledMatrix& map);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_COLOR_SCALE_H_
