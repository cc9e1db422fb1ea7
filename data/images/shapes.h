// Generates grey images of geometric shapes.
#ifndef DATA_IMAGES_SHAPES_H_
#define DATA_IMAGES_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/images/image_set.h"

namespace regard {

// Returns the names of the shapes, indexed by kind.
std::vector<std::string> ShapeNames();

struct PlacedShape {
  int32_t kind = 0;  // index in ShapeNames()
  double y = 0;      // centre, in pixels
  double x = 0;
  double radius = 1;      // unit: pixels
  double angle = 0;       // unit: radians, clockwise
  double brightness = 1;  // 0 .. 1
};

// Draws a shape on grey pixels [height, width]. Each pixel keeps the brighter
// of its old and its new value. Edges are smoothed by 4 x 4 samples per pixel.
void DrawShape(const PlacedShape& shape, int64_t height, int64_t width,
               absl::Span<uint8_t> pixels);

// Returns `count` images [1, size, size]. Each image shows one slightly rotated
// shape with a random position, size and brightness. Noise is added. The images
// depend only on `seed` and `split`. Image i does not depend on `count`.
ImageSet MakeShapes(int64_t count, int64_t size, uint64_t seed,
                    absl::string_view split);

}  // namespace regard

#endif  // DATA_IMAGES_SHAPES_H_
