// Converts images from files to the inputs of a model.
#ifndef DATA_IMAGES_IMAGE_FORMAT_H_
#define DATA_IMAGES_IMAGE_FORMAT_H_

#include <array>

#include "data/images/image_set.h"
#include "options/config_problems.h"

namespace regard {

class ImageFormat;

// Adds problems at paths relative to `format`.
void ValidateImageFormat(const ImageFormat& format, ConfigProblems& problems);

ImageShape ShapeOf(const ImageFormat& format);

// Resizes `image` to the size of the format. The image must have the channels
// of the format.
ByteImage FitImage(const ByteImage& image, const ImageFormat& format);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_FORMAT_H_
