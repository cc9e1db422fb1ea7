// Generated canvases of three things, and sentences that say where they are.
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

// Three different kinds, in rising order.
using KindTriple = std::array<int32_t, 3>;

// All triples of `kinds` kinds, divided at random by `seed`: a fifth (rounded
// up) for test and a tenth for dev, the others for training. So test canvases
// show combinations that training never does.
struct TripleSplits {
  std::vector<KindTriple> train;
  std::vector<KindTriple> dev;
  std::vector<KindTriple> test;
};
TripleSplits SplitTriples(int32_t kinds, uint64_t seed);

// Grey pictures of things, and how they are called.
struct Things {
  int64_t side = 0;                // height and width of a picture
  std::vector<std::string> names;  // of the kinds
  // Writes a picture of `kind` to pixels [side, side]; `number` names it.
  std::function<void(int32_t kind, uint64_t number, absl::Span<uint8_t> pixels)>
      draw;
};

// Geometric shapes of any size and brightness, a little turned and moved.
Things ShapeThings(int64_t side, uint64_t seed);

// Images of a labelled set, one of the class at random. `kinds` are the classes
// to show; "WHAT show no KIND" is an InvalidArgument. `images` are grey and
// square and outlive this.
absl::StatusOr<Things> ImageThings(const ImageSet& images,
                                   const std::vector<std::string>& classes,
                                   absl::Span<const std::string> kinds,
                                   uint64_t seed, absl::string_view what);

// Canvases [1, 2 side, 2 side]: three of the four quadrants hold things of the
// kinds of a triple. The sentence begins at the thing that touches both others:
// "<prompt> a circle above a star and left of a cross". The names of things are
// about their quadrants. Canvas i is a function of i, `seed` and `split`.
CaptionSet MakeCanvases(int64_t count, const Things& things,
                        absl::Span<const KindTriple> triples,
                        absl::Span<const std::string> prompt, uint64_t seed,
                        absl::string_view split);

}  // namespace regard

#endif  // DATA_IMAGES_CANVASES_H_
