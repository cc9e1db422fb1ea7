// Decodes PNG files (ISO/IEC 15948) with libpng.
#ifndef DATA_IMAGES_PNG_IMAGE_H_
#define DATA_IMAGES_PNG_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/interleaved_image.h"

namespace regard {

// Decodes an image. Palettes become colours, and 16-bit channels are reduced to
// their upper 8 bits. Alpha, transparent colours and gamma are ignored. Returns
// InvalidArgument if the file is incomplete or a checksum is wrong.
absl::StatusOr<InterleavedImage> DecodePng(absl::string_view bytes);

}  // namespace regard

#endif  // DATA_IMAGES_PNG_IMAGE_H_
