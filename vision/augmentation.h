// Converts images to network inputs, with random variations in training.
#ifndef VISION_AUGMENTATION_H_
#define VISION_AUGMENTATION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"

namespace regard {

class ImageAugmentation;
class ImageFormat;

// A part of an image, scaled to the size of the image. The default is the
// identity.
struct ImageTransform {
  double top = 0;  // offset in pixels; may be outside the image
  double left = 0;
  double scale = 1;  // size of the part as a fraction of the image
  bool flip = false;
};

// Returns the variation of an example in an epoch, which depends only on the
// arguments. `epoch` must be below 2^24, and `example` below 2^37.
ImageTransform DrawTransform(const ImageAugmentation& config,
                             const ImageShape& shape, uint64_t seed,
                             int64_t epoch, int64_t example);

// Sets out[i] to (p / 255 - mean) / deviation, where p is pixel i of the
// transformed image. Pixels are interpolated bilinearly between pixel centres.
// Input and output have the shape [channels, height, width]. Mean and standard
// deviation are fields of `format`, 1/2 by default.
template <typename T>
void TransformImage(const uint8_t* pixels, const ImageShape& shape,
                    const ImageFormat& format, const ImageTransform& transform,
                    T* out);

// Returns the images examples[i] of `set` as a constant of the tape, [examples,
// channels, height, width]. In training, images are varied by DrawTransform()
// with `epoch` and the seed of the tape's random state.
template <typename T>
Var<T> MakeImages(Tape<T>& tape, const ImageSet& set,
                  absl::Span<const int64_t> examples,
                  const ImageAugmentation& config, int64_t epoch);

}  // namespace regard

#endif  // VISION_AUGMENTATION_H_
