#include "vision/image_trace.h"

#include "absl/strings/str_cat.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

TracedImage TracedImageOf(const ImageSet& images, int64_t index,
                          const VisionTransformer<float>& encoder) {
  const ImageShape& shape = images.shape;
  REGARD_CHECK(shape.channels == 1 || shape.channels == 3)
      << shape.channels << " channels";
  const uint8_t* const pixels = images.image(index);
  const int64_t plane = shape.height * shape.width;
  TracedImage image = {.height = static_cast<int>(shape.height),
                       .width = static_cast<int>(shape.width),
                       .rows = static_cast<int>(encoder.rows()),
                       .columns = static_cast<int>(encoder.columns()),
                       .first = static_cast<int>(encoder.first_patch())};
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t color = 0; color < 3; ++color) {
      image.rgb.push_back(
          pixels[(shape.channels == 3 ? color : 0) * plane + i]);
    }
  }
  return image;
}

TracedSequence PatchesOf(const ImageSet& images, int64_t index,
                         const VisionTransformer<float>& encoder) {
  TracedSequence patches = {.name = "image",
                            .image = TracedImageOf(images, index, encoder)};
  if (encoder.first_patch() > 0) patches.labels.push_back("class");
  for (int64_t row = 0; row < encoder.rows(); ++row) {
    for (int64_t column = 0; column < encoder.columns(); ++column) {
      patches.labels.push_back(absl::StrCat(row + 1, ",", column + 1));
    }
  }
  return patches;
}

}  // namespace regard
