#include "experiments/tasks/image_classification/image_picture.h"

#include <utility>

#include "third_party/abseil_backport/check.h"

namespace regard {

Picture PictureOf(const ImageSet& images, int64_t index, std::string title,
                  const PatchWeights& weights) {
  const ImageShape& shape = images.shape;
  REGARD_CHECK(shape.channels == 1 || shape.channels == 3)
      << shape.channels << " channels";
  const uint8_t* const pixels = images.image(index);
  const int64_t plane = shape.height * shape.width;
  Picture picture = {.title = std::move(title),
                     .height = static_cast<int>(shape.height),
                     .width = static_cast<int>(shape.width)};
  for (int64_t i = 0; i < plane; ++i) {
    for (int64_t color = 0; color < 3; ++color) {
      picture.rgb.push_back(
          pixels[(shape.channels == 3 ? color : 0) * plane + i]);
    }
  }
  picture.rows = static_cast<int>(weights.rows);
  picture.columns = static_cast<int>(weights.columns);
  picture.weights = weights.weights;
  return picture;
}

}  // namespace regard
