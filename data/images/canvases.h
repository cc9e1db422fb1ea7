// Generated canvases of three things, with the sentence that says where they
// are.
#ifndef DATA_IMAGES_CANVASES_H_
#define DATA_IMAGES_CANVASES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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

// Grey pictures of things, [side, side], and how they are called.
class ThingSource {
 public:
  virtual ~ThingSource() = default;
  virtual int64_t side() const = 0;
  virtual const std::vector<std::string>& names() const = 0;  // of the kinds
  // Writes a picture of `kind` to pixels [side, side]; `draw` names it.
  virtual void Draw(int32_t kind, uint64_t draw,
                    absl::Span<uint8_t> pixels) const = 0;
};

// Geometric shapes of any size and brightness, a little turned and moved.
class ShapeThings : public ThingSource {
 public:
  ShapeThings(int64_t side, uint64_t seed);

  int64_t side() const override { return side_; }
  const std::vector<std::string>& names() const override { return names_; }
  void Draw(int32_t kind, uint64_t draw,
            absl::Span<uint8_t> pixels) const override;

 private:
  const int64_t side_;
  const uint64_t seed_;
  const std::vector<std::string> names_;
};

// Images of a labelled set, one of the class at random.
class ImageThings : public ThingSource {
 public:
  // `kinds` are the classes to show; each has an image in `images`, which are
  // grey and square and outlive this.
  ImageThings(const ImageSet& images, const std::vector<std::string>& classes,
              absl::Span<const std::string> kinds, uint64_t seed);

  int64_t side() const override { return images_.shape.height; }
  const std::vector<std::string>& names() const override { return names_; }
  void Draw(int32_t kind, uint64_t draw,
            absl::Span<uint8_t> pixels) const override;

 private:
  const ImageSet& images_;
  const std::vector<std::string> names_;
  const uint64_t seed_;
  std::vector<std::vector<int64_t>> of_kind_;  // images of each kind
};

// Canvases [1, 2 side, 2 side]: three of the four quadrants hold things of the
// kinds of a triple. The sentence begins at the thing that touches both others:
// "<prompt> a circle above a star and left of a cross". The names of things are
// about their quadrants. Canvas i is a function of i, `seed` and `split`.
CaptionSet MakeCanvases(int64_t count, const ThingSource& things,
                        absl::Span<const KindTriple> triples,
                        absl::Span<const std::string> prompt, uint64_t seed,
                        absl::string_view split);

}  // namespace regard

#endif  // DATA_IMAGES_CANVASES_H_
