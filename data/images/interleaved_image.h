// An image as returned by the PNG and JPEG decoders.
#ifndef DATA_IMAGES_INTERLEAVED_IMAGE_H_
#define DATA_IMAGES_INTERLEAVED_IMAGE_H_

#include <cstdint>
#include <vector>

namespace regard {

struct InterleavedImage {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;             // 1: grey; 3: red, green, blue
  std::vector<uint8_t> bytes = {};  // [height, width, channels]
  int orientation = 1;              // Exif orientation, 1 to 8
};

// The maximum number of pixels of an image file.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;
// The maximum length of a side of an image file, in pixels.
inline constexpr int64_t kLongestImageSide = 65535;

}  // namespace regard

#endif  // DATA_IMAGES_INTERLEAVED_IMAGE_H_
