#include "data/images/canvases.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "data/images/shapes.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

KindTripleSplits SplitKindTriples(int32_t kinds, uint64_t seed) {
  std::vector<KindTriple> triples;
  for (int32_t a = 0; a < kinds; ++a) {
    for (int32_t b = a + 1; b < kinds; ++b) {
      for (int32_t c = b + 1; c < kinds; ++c) triples.push_back({a, b, c});
    }
  }
  // Fisher-Yates shuffle.
  const RandomStream random(seed, "canvases/triples");
  for (size_t i = triples.size(); i > 1; --i) {
    std::swap(triples[i - 1], triples[random.UniformIntAt(i, i)]);
  }
  const size_t test = (triples.size() + 4) / 5;
  const size_t dev = test + triples.size() / 10;
  KindTripleSplits splits;
  for (size_t i = 0; i < triples.size(); ++i) {
    (i < test  ? splits.test
     : i < dev ? splits.dev
               : splits.train)
        .push_back(triples[i]);
  }
  return splits;
}

DrawableObjects ShapeObjects(int64_t side, uint64_t seed) {
  const RandomStream random(seed, "canvases/shapes");
  const auto draw = [side, random](int32_t kind, uint64_t number,
                                   absl::Span<uint8_t> pixels) {
    uint64_t index = number * 8;
    const auto between = [&](double low, double high) {
      return low + (high - low) * random.UniformAt(index++);
    };
    const auto width = static_cast<double>(side);
    PlacedShape shape;
    shape.kind = kind;
    shape.radius = between(0.32, 0.45) * width;
    shape.y = between(shape.radius, width - shape.radius);
    shape.x = between(shape.radius, width - shape.radius);
    shape.angle = between(-0.2, 0.2);
    shape.brightness = between(0.6, 1);
    std::fill(pixels.begin(), pixels.end(), uint8_t{0});
    DrawShape(shape, side, side, pixels);
  };
  return {side, ShapeNames(), draw};
}

absl::StatusOr<DrawableObjects> ImageObjects(
    const ImageSet& images, const std::vector<std::string>& classes,
    absl::Span<const std::string> kinds, uint64_t seed,
    absl::string_view what) {
  REGARD_CHECK(images.shape.channels == 1 &&
               images.shape.height == images.shape.width)
      << "things of " << images.shape.height << " x " << images.shape.width;
  std::vector<std::vector<int64_t>> of_kinds;  // images by kind
  for (const std::string& kind : kinds) {
    const auto label = static_cast<int32_t>(
        std::find(classes.begin(), classes.end(), kind) - classes.begin());
    std::vector<int64_t>& of_kind = of_kinds.emplace_back();
    for (int64_t i = 0; i < images.size(); ++i) {
      if (images.labels[static_cast<size_t>(i)] == label) of_kind.push_back(i);
    }
    if (of_kind.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " must have at least one image of class '", kind,
                       "', but have none"));
    }
  }
  const RandomStream random(seed, "canvases/images");
  const auto draw = [&images, of_kinds, random](int32_t kind, uint64_t number,
                                                absl::Span<uint8_t> pixels) {
    const std::vector<int64_t>& of_kind = of_kinds[static_cast<size_t>(kind)];
    const uint8_t* const image =
        images.image(of_kind[random.UniformIntAt(number, of_kind.size())]);
    std::copy_n(image, pixels.size(), pixels.begin());
  };
  return DrawableObjects{
      images.shape.height, {kinds.begin(), kinds.end()}, draw};
}

CaptionSet MakeCanvases(int64_t count, const DrawableObjects& objects,
                        absl::Span<const KindTriple> triples,
                        absl::Span<const std::string> prompt, uint64_t seed,
                        absl::string_view split) {
  REGARD_CHECK(count == 0 || !triples.empty()) << "canvases of no triple";
  const RandomStream random(seed, absl::StrCat("canvases/", split));
  const int64_t side = objects.side;
  CaptionSet set;
  set.images.shape = {1, 2 * side, 2 * side};
  set.images.pixels.resize(static_cast<size_t>(count * set.images.shape.size()),
                           0);
  std::vector<uint8_t> tile(static_cast<size_t>(side * side));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t draw = static_cast<uint64_t>(i) * 8;
    KindTriple kinds = triples[random.UniformIntAt(draw++, triples.size())];
    // Shuffles the order in which the sentence names the kinds.
    for (size_t k = 3; k > 1; --k) {
      std::swap(kinds[k - 1], kinds[random.UniformIntAt(draw++, k)]);
    }
    const auto corner = static_cast<int32_t>(random.UniformIntAt(draw++, 4));
    const bool top = corner < 2;
    const bool left = corner % 2 == 0;
    // The quadrants of the three objects: the corner, the other quadrant in its
    // column, and the other quadrant in its row.
    const int32_t quadrants[] = {corner, corner ^ 2, corner ^ 1};
    for (int thing = 0; thing < 3; ++thing) {
      // Reserves 256 random numbers for drawing one object.
      objects.draw(kinds[thing], random.BitsAt(draw++) >> 8,
                   absl::MakeSpan(tile));
      uint8_t* to = set.images.pixels.data() + i * set.images.shape.size() +
                    quadrants[thing] / 2 * side * 2 * side +
                    quadrants[thing] % 2 * side;
      for (int64_t row = 0; row < side; ++row) {
        std::copy_n(tile.begin() + row * side, side, to + row * 2 * side);
      }
    }
    Caption caption = {.image = i};
    const auto add = [&](absl::string_view word, int32_t quadrant = -1) {
      caption.words.emplace_back(word);
      caption.quadrants.push_back(quadrant);
    };
    const auto add_thing = [&](int thing) {
      add("a");
      add(objects.names[static_cast<size_t>(kinds[thing])], quadrants[thing]);
    };
    for (const std::string& word : prompt) add(word);
    add_thing(0);
    add(top ? "above" : "below");
    add_thing(1);
    add("and");
    add(left ? "left" : "right");
    add("of");
    add_thing(2);
    set.captions.push_back(std::move(caption));
  }
  return set;
}

}  // namespace regard
