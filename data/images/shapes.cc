#include "data/images/shapes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Whether a point is inside a five-pointed star on the unit circle, whose inner
// corners have the radius 0.42.
bool InStar(double x, double y) {
  constexpr double kStep = std::numbers::pi / 5;
  // The angle to the nearest outer corner, 0 .. kStep.
  const double turns = (std::atan2(x, -y) + std::numbers::pi) / (2 * kStep);
  const double angle = std::abs(turns - std::floor(turns) - 0.5) * 2 * kStep;
  // The edge goes from (1, 0) to the inner corner.
  const double corner_x = 0.42 * std::cos(kStep);
  const double corner_y = 0.42 * std::sin(kStep);
  const double r = std::hypot(x, y);
  const double px = r * std::cos(angle);
  const double py = r * std::sin(angle);
  return (corner_x - 1) * py - corner_y * (px - 1) >= 0;
}

// A shape of radius 1 around the origin. `covers` returns whether the shape
// covers a point. The y axis points down.
struct Kind {
  const char* name;
  bool (*covers)(double x, double y);
};

constexpr Kind kKinds[] = {
    {"circle", [](double x, double y) { return x * x + y * y <= 1; }},
    {"square",
     [](double x, double y) {
       return std::max(std::abs(x), std::abs(y)) <= 0.875;
     }},
    {"triangle",
     [](double x, double y) {
       return y <= 0.8 && std::abs(x) <= (y + 1) * 0.55;
     }},
    {"cross",
     [](double x, double y) {
       const double far = std::max(std::abs(x), std::abs(y));
       return far <= 1 && std::min(std::abs(x), std::abs(y)) <= 0.28;
     }},
    {"ring",
     [](double x, double y) {
       const double square = x * x + y * y;
       return square <= 1 && square >= 0.35;
     }},
    {"diamond",
     [](double x, double y) { return std::abs(x) / 0.6 + std::abs(y) <= 1; }},
    {"star", InStar},
    {"moon",
     [](double x, double y) {
       const double from_right = (x - 0.6) * (x - 0.6) + y * y;
       return x * x + y * y <= 1 && from_right >= 0.65;
     }},
};

}  // namespace

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

void DrawShape(const PlacedShape& shape, int64_t height, int64_t width,
               absl::Span<uint8_t> pixels) {
  REGARD_CHECK(shape.kind >= 0 &&
               shape.kind < static_cast<int32_t>(std::size(kKinds)))
      << "shape " << shape.kind;
  REGARD_CHECK_EQ(static_cast<int64_t>(pixels.size()), height * width);
  constexpr int kSamples = 4;
  const auto covers = kKinds[shape.kind].covers;
  const double cosine = std::cos(shape.angle) / shape.radius;
  const double sine = std::sin(shape.angle) / shape.radius;
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      int covered = 0;
      for (int i = 0; i < kSamples * kSamples; ++i) {
        const double offset_y = (i / kSamples + 0.5) / kSamples;
        const double offset_x = (i % kSamples + 0.5) / kSamples;
        const double y = static_cast<double>(row) + offset_y - shape.y;
        const double x = static_cast<double>(column) + offset_x - shape.x;
        if (covers(cosine * x + sine * y, cosine * y - sine * x)) ++covered;
      }
      uint8_t& pixel = pixels[static_cast<size_t>(row * width + column)];
      const double value =
          255 * shape.brightness * covered / (kSamples * kSamples);
      pixel = std::max(pixel, static_cast<uint8_t>(std::lround(value)));
    }
  }
}

ImageSet MakeShapes(int64_t count, int64_t size, uint64_t seed,
                    absl::string_view split) {
  const RandomStream choices(seed, absl::StrCat("shapes/", split));
  const RandomStream noise(seed, absl::StrCat("shapes/noise/", split));
  const auto side = static_cast<double>(size);
  ImageSet set;
  set.shape = {1, size, size};
  set.pixels.resize(static_cast<size_t>(count * set.shape.size()));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t draw = static_cast<uint64_t>(i) * 8;
    const auto between = [&](double low, double high) {
      return low + (high - low) * choices.UniformAt(draw++);
    };
    PlacedShape shape;
    shape.kind =
        static_cast<int32_t>(choices.UniformIntAt(draw++, std::size(kKinds)));
    shape.radius = between(0.16, 0.34) * side;
    shape.y = between(shape.radius, side - shape.radius);
    shape.x = between(shape.radius, side - shape.radius);
    shape.angle = between(-0.3, 0.3);
    shape.brightness = between(0.4, 1);
    const absl::Span<uint8_t> pixels =
        absl::MakeSpan(set.pixels)
            .subspan(static_cast<size_t>(i * set.shape.size()),
                     static_cast<size_t>(set.shape.size()));
    DrawShape(shape, size, size, pixels);
    for (size_t p = 0; p < pixels.size(); ++p) {
      const auto index = static_cast<uint64_t>(i) * pixels.size() + p;
      const double value = pixels[p] + 24 * noise.NormalAt(index);
      pixels[p] =
          static_cast<uint8_t>(std::lround(std::clamp(value, 0., 255.)));
    }
    set.labels.push_back(shape.kind);
  }
  return set;
}

}  // namespace regard
