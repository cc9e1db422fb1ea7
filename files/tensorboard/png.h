// Images as PNG files (ISO/IEC 15948), by libpng.
#ifndef FILES_TENSORBOARD_PNG_H_
#define FILES_TENSORBOARD_PNG_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace regard::tensorboard {

// Height and width are at least 1; `rgb` is [height, width, 3], row-major.
std::string EncodePng(int height, int width, absl::Span<const uint8_t> rgb);

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_PNG_H_
