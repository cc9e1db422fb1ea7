// Decodes JPEG files (ISO/IEC 10918-1) with libjpeg-turbo's TurboJPEG.
#ifndef DATA_IMAGES_JPEG_IMAGE_H_
#define DATA_IMAGES_JPEG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/interleaved_image.h"

namespace regard {

// Decodes an image. Returns InvalidArgument for invalid bytes and for CMYK
// images. Treats warnings of libjpeg as errors. JPEG has no checksums, so
// damaged coefficients may result in different pixels without an error.
absl::StatusOr<InterleavedImage> DecodeJpeg(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_JPEG_IMAGE_H_
