// Images with sentences about them, and which part each word is about.
#ifndef DATA_IMAGES_CAPTION_SET_H_
#define DATA_IMAGES_CAPTION_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "data/images/image_set.h"
#include "data/target_lengths.h"

namespace regard {

// A part of a canvas: 0 top left, 1 top right, 2 bottom left, 3 bottom right.
inline constexpr int32_t kQuadrants = 4;

struct Caption {
  std::vector<std::string> words = {};
  // The quadrant that each word is about; -1 where there is none.
  std::vector<int32_t> quadrants = {};
  int64_t image = 0;  // of the set
};

struct CaptionSet {
  ImageSet images = {};
  // At least one of each image, in the order of the images.
  std::vector<Caption> captions = {};

  // Those of one image.
  absl::Span<const Caption> of(int64_t image) const {
    const auto begin =
        std::ranges::lower_bound(captions, image, {}, &Caption::image);
    const auto end =
        std::ranges::upper_bound(captions, image, {}, &Caption::image);
    return absl::MakeConstSpan(captions).subspan(
        static_cast<size_t>(begin - captions.begin()),
        static_cast<size_t>(end - begin));
  }
  // Images.
  int64_t size() const { return images.size(); }
  // Whether there are words that are about a quadrant.
  bool points() const {
    return std::ranges::any_of(captions, [](const Caption& caption) {
      return std::ranges::any_of(caption.quadrants,
                                 [](int32_t q) { return q >= 0; });
    });
  }
};

struct CaptionSplits {
  CaptionSet train = {};
  CaptionSet dev = {};   // may be empty
  CaptionSet test = {};  // may be empty
  // Of a trained model that is opened without its data: the text of its
  // vocabulary.
  std::string vocabulary = {};
  // Of a trained model's training; else they are those of `train`.
  std::optional<TargetLengths> lengths = {};
};

struct CaptionData {
  static constexpr char kName[] = "captioned images";

  CaptionSplits splits;
  // SHA-256 of each file, by data.path and its name.
  std::map<std::string, std::string> digests;
};

}  // namespace regard

#endif  // DATA_IMAGES_CAPTION_SET_H_
