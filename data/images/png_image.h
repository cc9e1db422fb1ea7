// PNG files (ISO/IEC 15948), decoded by libpng.
#ifndef DATA_IMAGES_PNG_IMAGE_H_
#define DATA_IMAGES_PNG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_rows.h"

namespace regard {

// Palettes become colours; of 16 bits the upper 8 remain; alpha, transparent
// colours and gamma are ignored. An InvalidArgument says what is wrong with the
// bytes: each checksum is verified, and nothing may be missing at the end.
absl::StatusOr<ImageRows> DecodePng(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_PNG_IMAGE_H_
