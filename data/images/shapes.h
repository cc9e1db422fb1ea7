// Generated grey images of geometric shapes.
#ifndef DATA_IMAGES_SHAPES_H_
#define DATA_IMAGES_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/images/image_set.h"

namespace regard {

// Names of the shapes, by their kind.
std::vector<std::string> ShapeNames();

struct PlacedShape {
  int32_t kind = 0;  // an index of ShapeNames()
  double y = 0;      // of the centre, in pixels
  double x = 0;
  double radius = 1;      // in pixels
  double angle = 0;       // in radians, clockwise
  double brightness = 1;  // 0 .. 1
};

// Adds a shape to grey pixels [height, width], whichever is brighter; edges are
// smoothed by 4 x 4 samples a pixel.
void DrawShape(const PlacedShape& shape, int64_t height, int64_t width,
               absl::Span<uint8_t> pixels);

// `count` images [1, size, size] with one shape each, of any place, size and
// brightness and a little turned, under noise. A function of `seed` and `split`
// alone; image i does not depend on `count`.
ImageSet MakeShapes(int64_t count, int64_t size, uint64_t seed,
                    absl::string_view split);

}  // namespace regard

#endif  // DATA_IMAGES_SHAPES_H_
