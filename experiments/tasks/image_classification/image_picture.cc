#include "experiments/tasks/image_classification/image_picture.h"

#include <utility>

#include "third_party/abseil_backport/check.h"

namespace regard {

Picture PictureOf(const ImageSet& images, int64_t index,
                  const VisionTransformer<float>& encoder,
                  std::vector<double> weights) {
  const ImageShape& shape = images.shape;
  REGARD_CHECK(shape.channels == 1 || shape.channels == 3)
      << shape.channels << " channels";
  const uint8_t* const pixels = images.image(index);
  const int64_t plane = shape.height * shape.width;
  Picture picture = {.height = static_cast<int>(shape.height),
                     .width = static_cast<int>(shape.width),
                     .rows = static_cast<int>(encoder.rows()),
                     .columns = static_cast<int>(encoder.columns()),
                     .weights = std::move(weights)};
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t color = 0; color < 3; ++color) {
      picture.rgb.push_back(
          pixels[(shape.channels == 3 ? color : 0) * plane + i]);
    }
  }
  return picture;
}

}  // namespace regard
