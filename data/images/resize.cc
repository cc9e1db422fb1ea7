#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int kFractionBits = 22;

double Support(Resampling resampling) {
  return resampling == Resampling::kBilinear ? 1 : 2;
}

double Filter(Resampling resampling, double x) {
  x = std::abs(x);
  if (resampling == Resampling::kBilinear) return x < 1 ? 1 - x : 0;
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

// The input pixels of an output pixel along one axis, with their weights.
struct Window {
  int64_t first = 0;                  // input pixel
  std::vector<int32_t> weights = {};  // unit: 2^-kFractionBits
};

// Returns the windows of `kept` output pixels, in the centre of all `to` output
// pixels.
std::vector<Window> Windows(int64_t from, int64_t to, int64_t kept,
                            Resampling resampling) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double filter_scale = std::max(scale, 1.0);
  const double support = Support(resampling) * filter_scale;
  const int64_t begin = (to - kept) / 2;
  std::vector<Window> windows(static_cast<size_t>(kept));
  for (int64_t i = begin; i < begin + kept; ++i) {
    Window& window = windows[static_cast<size_t>(i - begin)];
    if (from == to) {  // not filtered
      window = {.first = i, .weights = {1 << kFractionBits}};
      continue;
    }
    const double center = (static_cast<double>(i) + 0.5) * scale;
    window.first =
        std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const int64_t end =
        std::min(static_cast<int64_t>(center + support + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t at = window.first; at < end; ++at) {
      weights.push_back(Filter(
          resampling,
          (static_cast<double>(at) - center + 0.5) * (1 / filter_scale)));
      sum += weights.back();
    }
    for (const double weight : weights) {
      const double units = (sum != 0 ? weight / sum : weight) *
                           static_cast<double>(1 << kFractionBits);
      window.weights.push_back(
          static_cast<int32_t>(units < 0 ? units - 0.5 : units + 0.5));
    }
  }
  return windows;
}

uint8_t Rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kFractionBits - 1);

// Computes the weighted mean of the pixels of `in` under each window, and
// appends it to `row`.
void ResizeRow(const uint8_t* in, const std::vector<Window>& windows,
               std::vector<uint8_t>& row) {
  for (const Window& window : windows) {
    int32_t sum = kHalf;
    for (size_t i = 0; i < window.weights.size(); ++i) {
      sum += in[window.first + static_cast<int64_t>(i)] * window.weights[i];
    }
    row.push_back(Rounded(sum));
  }
}

}  // namespace

ByteImage ResizeImage(const ByteImage& image, int64_t height, int64_t width,
                      Resampling resampling) {
  return ResizeAndCrop(image, {height, width}, {height, width}, resampling);
}

ByteImage ResizeAndCrop(const ByteImage& image, const ImageSize& size,
                        const ImageSize& kept, Resampling resampling) {
  REGARD_CHECK(0 < kept.height && kept.height <= size.height &&
               0 < kept.width && kept.width <= size.width)
      << kept.height << " x " << kept.width << " of " << size.height << " x "
      << size.width;
  const ImageShape& shape = image.shape;
  const std::vector<Window> columns =
      Windows(shape.width, size.width, kept.width, resampling);
  const std::vector<Window> rows =
      Windows(shape.height, size.height, kept.height, resampling);
  // The range of image rows that the windows read. The first and the last rows
  // of the windows are in ascending order.
  const int64_t top = rows.front().first;
  const int64_t bottom = rows.back().first + std::ssize(rows.back().weights);
  ByteImage resized = {.shape = {shape.channels, kept.height, kept.width}};
  resized.pixels.reserve(static_cast<size_t>(resized.shape.size()));
  // Rows top .. bottom - 1 with the width that is kept.
  std::vector<uint8_t> between;
  between.reserve(static_cast<size_t>((bottom - top) * kept.width));
  std::vector<int32_t> sums(static_cast<size_t>(kept.width));
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    between.clear();
    for (int64_t y = top; y < bottom; ++y) {
      ResizeRow(
          image.pixels.data() + (channel * shape.height + y) * shape.width,
          columns, between);
    }
    for (const Window& window : rows) {
      std::fill(sums.begin(), sums.end(), kHalf);
      const uint8_t* in = between.data() + (window.first - top) * kept.width;
      for (const int32_t weight : window.weights) {
        for (int32_t& sum : sums) sum += *in++ * weight;
      }
      for (const int32_t sum : sums) resized.pixels.push_back(Rounded(sum));
    }
  }
  return resized;
}

}  // namespace regard
