// Where images with sentences come from.
#ifndef DATA_IMAGES_CAPTION_SOURCE_H_
#define DATA_IMAGES_CAPTION_SOURCE_H_

#include <map>
#include <string>

#include "data/images/caption_set.h"
#include "data/images/captions.pb.h"

namespace regard {

struct CaptionData {
  static constexpr char kName[] = "captioned images";

  CaptionSplits splits;
  // SHA-256 of each file, by data.path and its name.
  std::map<std::string, std::string> digests;
};

}  // namespace regard

#endif  // DATA_IMAGES_CAPTION_SOURCE_H_
