#include "data/images/canvases.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

// Returns objects that are drawn as tiles, with one grey value per kind.
DrawableObjects FlatObjects() {
  const auto draw = [](int32_t kind, uint64_t, absl::Span<uint8_t> pixels) {
    std::fill(pixels.begin(), pixels.end(), static_cast<uint8_t>(kind + 1));
  };
  return {2, {"hat", "cup", "pen"}, draw};
}

TEST(CanvasesTest, EachTripleIsInOneSplit) {
  const KindTripleSplits splits = SplitKindTriples(8, /*seed=*/1);
  EXPECT_EQ(splits.test.size(), 12);  // out of 56 triples
  EXPECT_EQ(splits.dev.size(), 5);
  EXPECT_EQ(splits.train.size(), 39);
  std::set<KindTriple> all;
  for (const auto* split : {&splits.train, &splits.dev, &splits.test}) {
    for (const KindTriple& triple : *split) {
      EXPECT_LT(triple[0], triple[1]);
      EXPECT_LT(triple[1], triple[2]);
      EXPECT_TRUE(all.insert(triple).second);
    }
  }
  EXPECT_EQ(all.size(), 56);
  EXPECT_EQ(SplitKindTriples(8, 1).test, splits.test);
  EXPECT_NE(SplitKindTriples(8, 2).test, splits.test);
  EXPECT_EQ(SplitKindTriples(3, 1).test.size(), 1);
  EXPECT_EQ(SplitKindTriples(2, 1).train.size(), 0);
}

// The grey value of a quadrant is the kind of its object. The sentence must
// describe these kinds and their positions.
TEST(CanvasesTest, TheSentenceDescribesTheCanvas) {
  const DrawableObjects objects = FlatObjects();
  const std::vector<std::string> prompt = {"see"};
  const CaptionSet set = MakeCanvases(60, objects, {{KindTriple{0, 1, 2}}},
                                      prompt, /*seed=*/1, "train");
  ASSERT_EQ(set.size(), 60);
  ASSERT_EQ(set.images.size(), 60);
  EXPECT_EQ(set.images.shape, (ImageShape{1, 4, 4}));
  std::set<std::string> sentences;
  for (int64_t i = 0; i < set.size(); ++i) {
    const uint8_t* const pixels = set.images.image(i);
    std::vector<int> quadrants;
    for (const int at : {0, 2, 8, 10}) {
      quadrants.push_back(pixels[at]);
      for (const int same : {1, 4, 5}) EXPECT_EQ(pixels[at + same], pixels[at]);
    }
    EXPECT_THAT(quadrants, UnorderedElementsAreArray({0, 1, 2, 3}));
    // The object that the sentence names first must be in the corner opposite
    // to the empty quadrant.
    const auto empty = static_cast<int>(
        std::find(quadrants.begin(), quadrants.end(), 0) - quadrants.begin());
    const int corner = 3 - empty;
    const auto name = [&](int quadrant) {
      return objects.names[static_cast<size_t>(quadrants[quadrant] - 1)];
    };
    const Caption& caption = set.captions[static_cast<size_t>(i)];
    const std::string sentence = absl::StrJoin(caption.words, " ");
    EXPECT_EQ(sentence, "see a " + name(corner) +
                            (corner < 2 ? " above" : " below") + " a " +
                            name(corner ^ 2) + " and " +
                            (corner % 2 == 0 ? "left" : "right") + " of a " +
                            name(corner ^ 1));
    EXPECT_THAT(caption.quadrants,
                ElementsAre(-1, -1, corner, -1, -1, corner ^ 2, -1, -1, -1, -1,
                            corner ^ 1));
    sentences.insert(sentence);
  }
  // 4 corners times 6 orders of the kinds make 24 possible sentences. Most of
  // them must occur.
  EXPECT_GT(sentences.size(), 18);
}

TEST(CanvasesTest, AreAFunctionOfSeedAndSplit) {
  const DrawableObjects objects = ShapeObjects(8, /*seed=*/1);
  const KindTripleSplits splits = SplitKindTriples(8, 1);
  const auto pixels = [&](int64_t count, uint64_t seed, const char* split) {
    std::vector<uint8_t> all =
        MakeCanvases(count, objects, splits.train, {}, seed, split)
            .images.pixels;
    all.resize(std::min<size_t>(all.size(), 4 * 256));
    return all;
  };
  EXPECT_EQ(pixels(4, 1, "train"), pixels(9, 1, "train"));
  EXPECT_NE(pixels(4, 1, "train"), pixels(4, 2, "train"));
  EXPECT_NE(pixels(4, 1, "train"), pixels(4, 1, "test"));
  EXPECT_EQ(MakeCanvases(0, objects, {}, {}, 1, "test").size(), 0);
}

TEST(CanvasesTest, ImagesShowTheirKind) {
  ImageSet images;
  images.shape = {1, 1, 1};
  images.pixels = {10, 20, 11, 30, 12};
  images.labels = {0, 1, 0, 2, 0};
  const std::vector<std::string> kinds = {"c", "a"};
  const DrawableObjects objects =
      ImageObjects(images, {"a", "b", "c"}, kinds, /*seed=*/1, "images")
          .value();
  EXPECT_THAT(objects.names, ElementsAre("c", "a"));
  std::set<int> seen;
  for (uint64_t draw = 0; draw < 50; ++draw) {
    uint8_t pixel = 0;
    objects.draw(0, draw, {&pixel, 1});
    EXPECT_EQ(pixel, 30);
    objects.draw(1, draw, {&pixel, 1});
    seen.insert(pixel);
  }
  EXPECT_THAT(seen, ElementsAre(10, 11, 12));
}

TEST(CanvasesTest, EachKindNeedsAnImage) {
  ImageSet images;
  images.shape = {1, 1, 1};
  images.pixels = {10};
  images.labels = {0};
  const std::vector<std::string> kinds = {"b"};
  EXPECT_THAT(ImageObjects(images, {"a", "b"}, kinds, 1, "the images"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the images must have at least one image of class 'b', "
                       "but have none"));
}

}  // namespace
}  // namespace regard
