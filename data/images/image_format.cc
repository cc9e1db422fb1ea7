#include "data/images/image_format.h"

#include <cstdint>

#include "data/images/resize.h"

namespace regard {

void ValidateImageFormat(const ImageFormat& format, ConfigProblems& problems) {
  problems.CheckRanges(format);
  problems.CheckRanges(format.mean(), "mean");
  problems.CheckRanges(format.deviation(), "deviation");
  problems.RequirePositive("deviation.red", format.deviation().red());
  problems.RequirePositive("deviation.green", format.deviation().green());
  problems.RequirePositive("deviation.blue", format.deviation().blue());
}

ImageShape ShapeOf(const ImageFormat& format) {
  return {format.grey() ? 1 : 3, format.height(), format.width()};
}

Image FitImage(const Image& image, const ImageFormat& format) {
  const Resampling resampling = format.filter() == ImageFormat::BILINEAR
                                    ? Resampling::kBilinear
                                    : Resampling::kBicubic;
  int64_t height = format.height();
  int64_t width = format.width();
  if (format.crop()) {
    // Rounded down as in transformers and torchvision.
    const ImageShape& shape = image.shape;
    if (shape.height * width <= shape.width * height) {
      width = height * shape.width / shape.height;
    } else {
      height = width * shape.height / shape.width;
    }
  }
  const Image resized = ResizeImage(image, height, width, resampling);
  return CropCenter(resized, format.height(), format.width());
}

}  // namespace regard
