// Images as numbers, varied in training.
#ifndef VISION_AUGMENTATION_H_
#define VISION_AUGMENTATION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"

namespace regard {

class ImageAugmentation;
class ImageFormat;

// A part of an image, scaled to the image's size. The identity by default.
struct ImageTransform {
  double top = 0;  // of the part, in pixels; may lie outside
  double left = 0;
  double scale = 1;  // the part's height and width as shares of the image's
  bool flip = false;
};

// A function of its arguments alone. epoch < 2^24, example < 2^37.
ImageTransform DrawTransform(const ImageAugmentation& config,
                             const ImageShape& shape, uint64_t seed,
                             int64_t epoch, int64_t example);

// Sets out[i] to pixel i of the transformed image, (p / 255 - mean) /
// deviation, by bilinear interpolation between centres of pixels. Both have the
// shape [channels, height, width]; mean and deviation are those of `format`,
// 1/2 by default.
template <typename T>
void TransformImage(const uint8_t* pixels, const ImageShape& shape,
                    const ImageFormat& format, const ImageTransform& transform,
                    T* out);

// The images examples[i] of `set` as a constant of the tape, [examples,
// channels, height, width]. On a tape that trains they are those of `epoch`,
// drawn with the seed of its random state.
template <typename T>
Var<T> MakeImages(Tape<T>& tape, const ImageSet& set,
                  absl::Span<const int64_t> examples,
                  const ImageAugmentation& config, int64_t epoch);

}  // namespace regard

#endif  // VISION_AUGMENTATION_H_
