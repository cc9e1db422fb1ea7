// Generated canvases that show three objects each, with sentences about the
// positions of the objects.
#ifndef DATA_IMAGES_CANVASES_H_
#define DATA_IMAGES_CANVASES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/images/caption_set.h"
#include "data/images/image_set.h"

namespace regard {

// Three different kinds, in ascending order.
using KindTriple = std::array<int32_t, 3>;

// All triples of `kinds` kinds, divided into splits at random, using `seed`.
// The test split gets a fifth (rounded up), the dev split a tenth, and the
// training split the rest. Test canvases therefore show combinations that do
// not occur in training.
struct KindTripleSplits {
  std::vector<KindTriple> train;
  std::vector<KindTriple> dev;
  std::vector<KindTriple> test;
};
KindTripleSplits SplitKindTriples(int32_t kinds, uint64_t seed);

// A source of grey pictures of objects, with the names of the objects.
struct DrawableObjects {
  int64_t side = 0;                // height and width of a picture
  std::vector<std::string> names;  // indexed by kind
  // Draws a picture of `kind`, which `number` selects, to pixels [side, side].
  std::function<void(int32_t kind, uint64_t number, absl::Span<uint8_t> pixels)>
      draw;
};

// Returns objects that are geometric shapes of any size and brightness,
// slightly rotated.
DrawableObjects ShapeObjects(int64_t side, uint64_t seed);

// Returns objects that are images of a labelled set. `kinds` are the classes to
// show. Each picture of a kind is a random image of this class. Returns
// InvalidArgument, with a message that begins with `what`, if one of these
// classes has no images. `images` must be grey and square, and must outlive the
// result.
absl::StatusOr<DrawableObjects> ImageObjects(
    const ImageSet& images, const std::vector<std::string>& classes,
    absl::Span<const std::string> kinds, uint64_t seed, absl::string_view what);

// Returns `count` canvases [1, 2 * side, 2 * side]. Three of the four quadrants
// show one object each. The kinds of these objects are a random element of
// `triples`. The sentence begins with the object that touches the other two:
// "<prompt> a circle above a star and left of a cross". Each word that names an
// object refers to the quadrant of the object. Canvas i depends only on i,
// `seed` and `split`.
CaptionSet MakeCanvases(int64_t count, const DrawableObjects& objects,
                        absl::Span<const KindTriple> triples,
                        absl::Span<const std::string> prompt, uint64_t seed,
                        absl::string_view split);

}  // namespace regard

#endif  // DATA_IMAGES_CANVASES_H_
