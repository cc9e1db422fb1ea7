// Resizes images, with the same pixels as Pillow.
#ifndef DATA_IMAGES_RESIZE_H_
#define DATA_IMAGES_RESIZE_H_

#include <cstdint>

#include "data/images/image_set.h"

namespace regard {

enum class Resampling {
  kBilinear,  // a triangle
  kBicubic,   // Keys, "Cubic convolution interpolation", 1981, with a = -1/2
};

// Returns the same pixels as Image.resize((width, height), BILINEAR or
// BICUBIC). height and width must be at least 1.
//
// Each pixel is a weighted mean of the pixels under the filter. If the image
// becomes smaller, the filter becomes wider in proportion. The width is resized
// first, then the height, in fixed-point arithmetic with 22 fractional bits.
// The intermediate result is rounded to whole numbers.
ByteImage ResizeImage(const ByteImage& image, int64_t height, int64_t width,
                      Resampling resampling);

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

// Resizes an image to `size` and returns its central part of size `kept`, which
// must not be larger. If the difference is odd, the smaller half is cut off
// above and left, as in the transformers library. Does not compute the pixels
// that are cut off. In a long, narrow image, almost all pixels may be cut off.
ByteImage ResizeAndCrop(const ByteImage& image, const ImageSize& size,
                        const ImageSize& kept, Resampling resampling);

}  // namespace regard

#endif  // DATA_IMAGES_RESIZE_H_
