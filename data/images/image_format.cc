#include "data/images/image_format.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "data/images/image_format.pb.h"
#include "data/images/resize.h"

namespace regard {

void ValidateImageFormat(const ImageFormat& format, ConfigProblems& problems) {
  problems.CheckRanges(format);
  problems.RequirePositive("deviation.red", format.deviation().red());
  problems.RequirePositive("deviation.green", format.deviation().green());
  problems.RequirePositive("deviation.blue", format.deviation().blue());
  if (format.shorter_side() == 0) return;
  if (!format.crop()) {
    problems.Note("shorter_side", "has no effect without crop: true");
  } else if (const int longer = std::max(format.height(), format.width());
             format.shorter_side() < longer) {
    problems.Add(
        "shorter_side",
        absl::StrCat("must be at least ", longer,
                     ", the longer side of the crop (", format.height(), " x ",
                     format.width(), "), got ", format.shorter_side()));
  }
}

ImageShape ShapeOf(const ImageFormat& format) {
  return {format.grey() ? 1 : 3, format.height(), format.width()};
}

ByteImage FitImage(const ByteImage& image, const ImageFormat& format) {
  const Resampling resampling = format.filter() == ImageFormat::BILINEAR
                                    ? Resampling::kBilinear
                                    : Resampling::kBicubic;
  const ImageSize kept = {format.height(), format.width()};
  ImageSize size = kept;
  if (format.crop()) {
    if (format.shorter_side() > 0) {
      size.height = size.width = format.shorter_side();
    }
    // Rounds down, as transformers and torchvision do.
    const ImageShape& shape = image.shape;
    if (shape.height * size.width <= shape.width * size.height) {
      size.width = size.height * shape.width / shape.height;
    } else {
      size.height = size.width * shape.height / shape.width;
    }
  }
  return ResizeAndCrop(image, size, kept, resampling);
}

}  // namespace regard
