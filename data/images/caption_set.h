// Images with sentences about them, and which part each word is about.
#ifndef DATA_IMAGES_CAPTION_SET_H_
#define DATA_IMAGES_CAPTION_SET_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/images/image_set.h"

namespace regard {

// A part of a canvas: 0 top left, 1 top right, 2 bottom left, 3 bottom right.
inline constexpr int32_t kQuadrants = 4;

struct Caption {
  std::vector<std::string> words;
  // The quadrant that each word is about; -1 where there is none.
  std::vector<int32_t> quadrants;
};

struct CaptionSet {
  ImageSet images;
  std::vector<Caption> captions;  // of each image

  int64_t size() const { return static_cast<int64_t>(captions.size()); }
};

struct CaptionSplits {
  CaptionSet train;
  CaptionSet dev;   // may be empty
  CaptionSet test;  // may be empty
};

struct CaptionData {
  static constexpr char kName[] = "captioned images";

  CaptionSplits splits;
  // SHA-256 of each file, by data.path and its name.
  std::map<std::string, std::string> digests;
};

}  // namespace regard

#endif  // DATA_IMAGES_CAPTION_SET_H_
