#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

// What an output pixel is the mean of, along one axis.
struct Window {
  int64_t first = 0;                  // input pixel
  std::vector<int32_t> weights = {};  // in units of 2^-kFractionBits
};

std::vector<Window> Windows(int64_t from, int64_t to, Resampling resampling) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double filter_scale = std::max(scale, 1.0);
  const double support = Support(resampling) * filter_scale;
  std::vector<Window> windows(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    Window& window = windows[static_cast<size_t>(i)];
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

Image ResizeColumns(const Image& image, int64_t width, Resampling resampling) {
  const std::vector<Window> windows =
      Windows(image.shape.width, width, resampling);
  Image resized = {.shape = {image.shape.channels, image.shape.height, width}};
  resized.pixels.reserve(static_cast<size_t>(resized.shape.size()));
  const int64_t rows = image.shape.channels * image.shape.height;
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* const in = image.pixels.data() + row * image.shape.width;
    for (const Window& window : windows) {
      int32_t sum = kHalf;
      for (size_t i = 0; i < window.weights.size(); ++i) {
        sum += in[window.first + static_cast<int64_t>(i)] * window.weights[i];
      }
      resized.pixels.push_back(Rounded(sum));
    }
  }
  return resized;
}

Image ResizeRows(const Image& image, int64_t height, Resampling resampling) {
  const std::vector<Window> windows =
      Windows(image.shape.height, height, resampling);
  const int64_t width = image.shape.width;
  Image resized = {.shape = {image.shape.channels, height, width}};
  resized.pixels.reserve(static_cast<size_t>(resized.shape.size()));
  std::vector<int32_t> sums(static_cast<size_t>(width));
  for (int64_t channel = 0; channel < image.shape.channels; ++channel) {
    for (const Window& window : windows) {
      std::fill(sums.begin(), sums.end(), kHalf);
      const uint8_t* in = image.pixels.data() +
                          (channel * image.shape.height + window.first) * width;
      for (const int32_t weight : window.weights) {
        for (int32_t& sum : sums) sum += *in++ * weight;
      }
      for (const int32_t sum : sums) resized.pixels.push_back(Rounded(sum));
    }
  }
  return resized;
}

}  // namespace

Image ResizeImage(const Image& image, int64_t height, int64_t width,
                  Resampling resampling) {
  REGARD_CHECK(height > 0 && width > 0) << height << " x " << width;
  // An axis that keeps its size is not filtered.
  Image resized = width == image.shape.width
                      ? image
                      : ResizeColumns(image, width, resampling);
  if (height == image.shape.height) return resized;
  return ResizeRows(resized, height, resampling);
}

Image CropCenter(const Image& image, int64_t height, int64_t width) {
  const ImageShape& shape = image.shape;
  REGARD_CHECK(height <= shape.height && width <= shape.width)
      << height << " x " << width << " of " << shape.height << " x "
      << shape.width;
  const int64_t top = (shape.height - height) / 2;
  const int64_t left = (shape.width - width) / 2;
  Image part = {.shape = {shape.channels, height, width}};
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t y = top; y < top + height; ++y) {
      const auto row = image.pixels.begin() +
                       (channel * shape.height + y) * shape.width + left;
      part.pixels.insert(part.pixels.end(), row, row + width);
    }
  }
  return part;
}

}  // namespace regard
