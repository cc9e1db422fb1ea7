#include "experiments/report/heat_map.h"

#include <algorithm>
#include <cmath>

#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

struct Rgb {
  int red = 0;
  int green = 0;
  int blue = 0;
};

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
  const double part = scaled - stop;
  const auto mix = [part](int from, int to) {
    return static_cast<int>(std::lround(from + part * (to - from)));
  };
  const Rgb& from = stops[stop];
  const Rgb& to = stops[stop + 1];
  return {mix(from.red, to.red), mix(from.green, to.green),
          mix(from.blue, to.blue)};
}

void SetPixel(int y, int x, const Rgb& color, HeatMapImage* image) {
  uint8_t* const pixel =
      &image->rgb[(static_cast<size_t>(y) * image->width + x) * 3];
  pixel[0] = static_cast<uint8_t>(color.red);
  pixel[1] = static_cast<uint8_t>(color.green);
  pixel[2] = static_cast<uint8_t>(color.blue);
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
  HeatMapImage image{.height = rows * cell, .width = columns * cell};
  image.rgb.resize(static_cast<size_t>(image.height) * image.width * 3);
  for (int y = 0; y < image.height; ++y) {
    const double* const row =
        &map.heads[head][static_cast<size_t>(y / cell) * columns];
    for (int x = 0; x < image.width; ++x) {
      SetPixel(y, x, ColorOf(row[x / cell], largest), &image);
    }
  }
  if (cell < kSmallestBordered) return image;
  for (const Cell& gold : map.gold) {
    const int top = gold.row * cell;
    const int left = gold.column * cell;
    for (int i = 0; i < cell; ++i) {
      SetPixel(top, left + i, kGold, &image);
      SetPixel(top + cell - 1, left + i, kGold, &image);
      SetPixel(top + i, left, kGold, &image);
      SetPixel(top + i, left + cell - 1, kGold, &image);
    }
  }
  return image;
}

}  // namespace regard
