#include "vision/augmentation.h"

#include <cmath>

#include "autodiff/random.h"
#include "data/images/image_format.pb.h"
#include "third_party/abseil_backport/check.h"
#include "vision/augmentation.pb.h"

namespace regard {

namespace {

// The normalization of a channel.
struct Normalization {
  double mean;
  double deviation;

  template <typename T>
  T Of(double pixel) const {
    return static_cast<T>((pixel / 255 - mean) / deviation);
  }
};

double ValueOf(const ChannelValues& values, int64_t channel) {
  return channel == 0   ? values.red()
         : channel == 1 ? values.green()
                        : values.blue();
}

// The position of an output pixel's centre on one axis of the input. It lies
// between the centres of pixels `first` and `first` + 1. `weight` is the
// interpolation weight of pixel `first` + 1.
struct Place {
  int64_t first;
  double weight;
};

Place PlaceOf(int64_t index, double begin, double scale) {
  const double at = begin + (static_cast<double>(index) + 0.5) * scale - 0.5;
  const double floor = std::floor(at);
  return {static_cast<int64_t>(floor), at - floor};
}

}  // namespace

ImageTransform DrawTransform(const ImageAugmentation& config,
                             const ImageShape& shape, uint64_t seed,
                             int64_t epoch, int64_t example) {
  const RandomStream random(seed, "augmentation");
  uint64_t draw =
      static_cast<uint64_t>(epoch) << 40 | static_cast<uint64_t>(example) << 3;
  const auto uniform = [&] { return random.UniformAt(draw++); };
  ImageTransform transform;
  transform.scale = config.crop() + (1 - config.crop()) * uniform();
  const double rest = 1 - transform.scale;
  transform.top = uniform() * rest * static_cast<double>(shape.height);
  transform.left = uniform() * rest * static_cast<double>(shape.width);
  const auto shift = [&] {
    const double shifts = 2 * config.shift() + 1;
    return std::floor(uniform() * shifts) - config.shift();
  };
  transform.top += shift();
  transform.left += shift();
  transform.flip = config.flip() && uniform() < 0.5;
  return transform;
}

template <typename T>
void TransformImage(const uint8_t* pixels, const ImageShape& shape,
                    const ImageFormat& format, const ImageTransform& transform,
                    T* out) {
  const bool is_identity = transform.scale == 1 && transform.top == 0 &&
                           transform.left == 0 && !transform.flip;
  const int64_t height = shape.height;
  const int64_t width = shape.width;
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    const Normalization normalized = {ValueOf(format.mean(), channel),
                                      ValueOf(format.deviation(), channel)};
    const uint8_t* const image = pixels + channel * height * width;
    if (is_identity) {
      for (int64_t i = 0; i < height * width; ++i) {
        *out++ = normalized.Of<T>(image[i]);
      }
      continue;
    }
    const auto at = [&](int64_t y, int64_t x) -> double {
      return y < 0 || y >= height || x < 0 || x >= width ? 0
                                                         : image[y * width + x];
    };
    for (int64_t row = 0; row < height; ++row) {
      const Place y = PlaceOf(row, transform.top, transform.scale);
      for (int64_t column = 0; column < width; ++column) {
        const int64_t from = transform.flip ? width - 1 - column : column;
        const Place x = PlaceOf(from, transform.left, transform.scale);
        const double above = (1 - x.weight) * at(y.first, x.first) +
                             x.weight * at(y.first, x.first + 1);
        const double below = (1 - x.weight) * at(y.first + 1, x.first) +
                             x.weight * at(y.first + 1, x.first + 1);
        *out++ = normalized.Of<T>((1 - y.weight) * above + y.weight * below);
      }
    }
  }
}

template <typename T>
Var<T> MakeImages(Tape<T>& tape, const ImageSet& set,
                  absl::Span<const int64_t> examples,
                  const ImageAugmentation& config, int64_t epoch) {
  const ImageShape& shape = set.shape;
  const Var<T> images =
      tape.Constant({static_cast<int64_t>(examples.size()), shape.channels,
                     shape.height, shape.width});
  T* out = images.data();
  for (const int64_t example : examples) {
    REGARD_CHECK(example >= 0 && example < set.size())
        << "image " << example << " of " << set.size();
    const ImageTransform transform =
        tape.training()
            ? DrawTransform(config, shape, tape.random().seed, epoch, example)
            : ImageTransform();
    TransformImage(
        set.image(example), shape,
        set.format.has_value() ? *set.format : ImageFormat::default_instance(),
        transform, out);
    out += shape.size();
  }
  return images;
}

REGARD_INSTANTIATE_FUNCTION(TransformImage);
REGARD_INSTANTIATE_FUNCTION(MakeImages);

}  // namespace regard
