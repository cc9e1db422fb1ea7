// Images that a user names.
#ifndef DATA_IMAGES_PNG_IMAGE_H_
#define DATA_IMAGES_PNG_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/images/image_set.h"

namespace regard {

// The pixels of a PNG file, [channels, height, width], which must have the
// height and width of `shape`: as grey where that has one channel, else as
// colours, on black where the file is transparent. `path` is as the user gave
// it. An error names it, what was found and what is wanted.
absl::StatusOr<std::vector<uint8_t>> ReadPng(const std::string& path,
                                             const ImageShape& shape);

}  // namespace regard

#endif  // DATA_IMAGES_PNG_IMAGE_H_
