#include "experiments/report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using Rgb = std::array<uint8_t, 3>;

// Those of light pages in page.css: stops at equal distances from 0 to the
// largest weight, and to the most negative one.
constexpr int kStops = 5;
constexpr Rgb kRamp[kStops] = {{243, 246, 246},
                               {188, 224, 212},
                               {70, 169, 189},
                               {33, 93, 160},
                               {8, 24, 84}};
constexpr Rgb kNegativeRamp[kStops] = {{243, 246, 246},
                                       {247, 212, 166},
                                       {232, 144, 76},
                                       {184, 76, 24},
                                       {92, 24, 8}};

constexpr int kUsualSize = 256;
constexpr int kLargestCell = 8;
// Below this side a border would leave nothing of a cell.
constexpr int kSmallestBordered = 4;
constexpr Rgb kGold = {224, 123, 0};
constexpr Rgb kNotFinite = {95, 103, 116};

Rgb ColorOf(double weight, double largest) {
  if (!std::isfinite(weight)) return kNotFinite;
  const Rgb* const stops = weight < 0 ? kNegativeRamp : kRamp;
  const double scaled =
      std::min(std::abs(weight) / largest, 1.0) * (kStops - 1);
  const int stop = std::min(static_cast<int>(scaled), kStops - 2);
  Rgb color;
  for (size_t i = 0; i < color.size(); ++i) {
    const int from = stops[stop][i];
    const int to = stops[stop + 1][i];
    color[i] =
        static_cast<uint8_t>(std::lround(from + (scaled - stop) * (to - from)));
  }
  return color;
}

}  // namespace

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

HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head) {
  const auto rows = static_cast<int>(map.rows.size());
  const auto columns = static_cast<int>(map.columns.size());
  REGARD_CHECK_GT(rows * columns, 0) << "heat map " << map.title;
  REGARD_CHECK_LT(head, map.heads.size());
  REGARD_CHECK_EQ(map.heads[head].size(), map.rows.size() * map.columns.size());
  const int cell =
      std::clamp(kUsualSize / std::max(rows, columns), 1, kLargestCell);
  const double largest = ScaleOf(map).largest;
  std::vector<bool> bordered(map.heads[head].size());
  for (const Cell& gold : map.gold) {
    bordered[gold.row * columns + gold.column] = cell >= kSmallestBordered;
  }
  const auto on_edge = [cell](int pixel) {
    return pixel % cell == 0 || pixel % cell == cell - 1;
  };
  HeatMapImage image{.height = rows * cell, .width = columns * cell};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int at = y / cell * columns + x / cell;
      const Rgb color = bordered[at] && (on_edge(y) || on_edge(x))
                            ? kGold
                            : ColorOf(map.heads[head][at], largest);
      image.rgb.insert(image.rgb.end(), color.begin(), color.end());
    }
  }
  return image;
}

}  // namespace regard
