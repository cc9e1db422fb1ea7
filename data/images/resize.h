// Images of other sizes, with the pixels that Pillow computes.
#ifndef DATA_IMAGES_RESIZE_H_
#define DATA_IMAGES_RESIZE_H_

#include <cstdint>

#include "data/images/image_set.h"

namespace regard {

enum class Resampling {
  kBilinear,  // a triangle
  kBicubic,   // Keys, "Cubic convolution interpolation", 1981, with a = -1/2
};

// Equal to Image.resize((width, height), BILINEAR or BICUBIC): each pixel is a
// mean of those below the filter, whose support grows with the scale where an
// image becomes smaller; columns first, then rows, in fixed point of 22 bits
// with rounding to whole numbers between. height, width >= 1.
Image ResizeImage(const Image& image, int64_t height, int64_t width,
                  Resampling resampling);

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

// The part of size `kept` in the middle of an image that is resized to `size`,
// which is not smaller; of an odd rest, the smaller half is above and left (as
// in transformers). Nothing is computed of what is cut off, which may be
// thousands of times as large.
Image ResizeAndCrop(const Image& image, const ImageSize& size,
                    const ImageSize& kept, Resampling resampling);

}  // namespace regard

#endif  // DATA_IMAGES_RESIZE_H_
