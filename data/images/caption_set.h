// Images with sentences, and the part of the image that a word refers to.
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

// Parts of a canvas: 0 top left, 1 top right, 2 bottom left, 3 bottom right.
inline constexpr int32_t kQuadrants = 4;

struct Caption {
  std::vector<std::string> words = {};
  // The quadrant that each word refers to, or -1.
  std::vector<int32_t> quadrants = {};
  int64_t image = 0;  // index in the set
};

struct CaptionSet {
  ImageSet images = {};
  // Captions, at least one for each image, in the order of the images.
  std::vector<Caption> captions = {};

  // Returns the captions of one image.
  absl::Span<const Caption> of(int64_t image) const {
    const auto begin =
        std::ranges::lower_bound(captions, image, {}, &Caption::image);
    const auto end =
        std::ranges::upper_bound(captions, image, {}, &Caption::image);
    return absl::MakeConstSpan(captions).subspan(
        static_cast<size_t>(begin - captions.begin()),
        static_cast<size_t>(end - begin));
  }
  // The number of images.
  int64_t size() const { return images.size(); }
  // Whether any word refers to a quadrant.
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
  // The text of the trained model's vocabulary, if the model is opened without
  // its data.
  std::string vocabulary = {};
  // The target lengths that a trained model has stored. If absent, the lengths
  // of `train` apply.
  std::optional<TargetLengths> lengths = {};
};

struct CaptionData {
  static constexpr char kName[] = "captioned images";

  CaptionSplits splits;
  // SHA-256 digests, by the config field that names the files, such as
  // "data.captions.list".
  std::map<std::string, std::string> digests;
};

}  // namespace regard

#endif  // DATA_IMAGES_CAPTION_SET_H_
