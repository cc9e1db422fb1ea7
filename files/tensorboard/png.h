// Encodes images as PNG files (ISO/IEC 15948) with libpng.
#ifndef FILES_TENSORBOARD_PNG_H_
#define FILES_TENSORBOARD_PNG_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace regard::tensorboard {

// `rgb` is [height, width, 3], row-major. Height and width must be at least 1.
std::string EncodePng(int height, int width, absl::Span<const uint8_t> rgb);

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_PNG_H_
