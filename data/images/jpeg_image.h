// JPEG files (ISO/IEC 10918-1), decoded by libjpeg-turbo's TurboJPEG.
#ifndef DATA_IMAGES_JPEG_IMAGE_H_
#define DATA_IMAGES_JPEG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_rows.h"

namespace regard {

// An InvalidArgument says what is wrong with the bytes, what libjpeg only warns
// of included, or that the image is in CMYK. JPEG has no checksums: damage
// within the coefficients may give another image.
absl::StatusOr<ImageRows> DecodeJpeg(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_JPEG_IMAGE_H_
