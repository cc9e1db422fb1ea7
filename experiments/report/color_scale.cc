#include "experiments/report/color_scale.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace regard {
namespace {

// Stops at equal distances, from weight 0 to the largest.
constexpr Rgb kLightRamp[] = {{243, 246, 246},
                              {188, 224, 212},
                              {70, 169, 189},
                              {33, 93, 160},
                              {8, 24, 84}};
constexpr Rgb kDarkRamp[] = {{31, 36, 43},
                             {27, 66, 108},
                             {32, 124, 158},
                             {103, 194, 169},
                             {247, 244, 176}};
// From 0 to the most negative value, for gradients of weights.
constexpr Rgb kLightNegativeRamp[] = {{243, 246, 246},
                                      {247, 212, 166},
                                      {232, 144, 76},
                                      {184, 76, 24},
                                      {92, 24, 8}};
constexpr Rgb kDarkNegativeRamp[] = {
    {31, 36, 43}, {82, 42, 24}, {140, 68, 28}, {200, 108, 46}, {255, 164, 88}};
constexpr int kStops = 5;

using Stops = Rgb[kStops];

const Stops& StopsOf(ColorRamp ramp) {
  switch (ramp) {
    case ColorRamp::kDark:
      return kDarkRamp;
    case ColorRamp::kLightNegative:
      return kLightNegativeRamp;
    case ColorRamp::kDarkNegative:
      return kDarkNegativeRamp;
    case ColorRamp::kLight:
      break;
  }
  return kLightRamp;
}

}  // namespace

Rgb RampColor(ColorRamp ramp, double position) {
  const Stops& stops = StopsOf(ramp);
  const double scaled = position * (kStops - 1);
  const int stop = std::min(static_cast<int>(scaled), kStops - 2);
  const double part = scaled - stop;
  const auto mix = [part](int from, int to) {
    return static_cast<int>(std::lround(from + part * (to - from)));
  };
  const Rgb& from = stops[stop];
  const Rgb& to = stops[stop + 1];
  return {mix(from.red, to.red), mix(from.green, to.green),
          mix(from.blue, to.blue)};
}

ColorScale ScaleOf(const LabelledMatrix& map) {
  ColorScale scale{.largest = 0};
  for (const std::vector<double>& head : map.heads) {
    for (const double weight : head) {
      if (!std::isfinite(weight)) continue;
      scale.largest = std::max(scale.largest, std::abs(weight));
      scale.is_signed = scale.is_signed || weight < 0;
    }
  }
  const bool keep = scale.is_signed || scale.largest < 0.5;
  if (scale.largest == 0 || !keep) scale.largest = 1;
  return scale;
}

}  // namespace regard
