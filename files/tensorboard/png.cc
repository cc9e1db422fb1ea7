#include "files/tensorboard/png.h"

#include <png.h>

#include <cstddef>

#include "third_party/abseil_backport/check.h"

namespace regard::tensorboard {

std::string EncodePng(int height, int width, absl::Span<const uint8_t> rgb) {
  REGARD_CHECK_GE(height, 1);
  REGARD_CHECK_GE(width, 1);
  REGARD_CHECK_EQ(rgb.size(), 3 * static_cast<size_t>(width) * height);
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  std::string png(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = png.size();
  // Rows have no gaps, and there is no colour map.
  const int written = png_image_write_to_memory(
      &image, png.data(), &size, /*convert_to_8_bit=*/0, rgb.data(),
      /*row_stride=*/0, /*colormap=*/nullptr);
  REGARD_CHECK(written != 0) << image.message;
  png.resize(size);
  return png;
}

}  // namespace regard::tensorboard
