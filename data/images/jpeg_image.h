// Decodes JPEG files (ISO/IEC 10918-1) with libjpeg-turbo's TurboJPEG.
#ifndef DATA_IMAGES_JPEG_IMAGE_H_
#define DATA_IMAGES_JPEG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_rows.h"

namespace regard {

// Decodes an image. Invalid bytes, and images in CMYK, are InvalidArgument.
// Warnings of libjpeg count as errors. JPEG has no checksums: damaged
// coefficients may give another image.
absl::StatusOr<ImageRows> DecodeJpeg(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_JPEG_IMAGE_H_
