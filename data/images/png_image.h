// Decodes PNG files (ISO/IEC 15948) with libpng.
#ifndef DATA_IMAGES_PNG_IMAGE_H_
#define DATA_IMAGES_PNG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_rows.h"

namespace regard {

// Decodes an image. Palettes become colours. 16 bits are reduced to the
// upper 8. Alpha, transparent colours and gamma are ignored. Invalid bytes are
// InvalidArgument: each checksum is verified, and the file must be complete.
absl::StatusOr<ImageRows> DecodePng(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_PNG_IMAGE_H_
