// Labelled images of one size, as bytes.
#ifndef DATA_IMAGES_IMAGE_SET_H_
#define DATA_IMAGES_IMAGE_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_format.pb.h"

namespace regard {

// The file in a run folder with the names of the classes, one per line.
inline constexpr char kClassesFile[] = "labels.txt";

struct ImageShape {
  int64_t channels = 1;
  int64_t height = 0;
  int64_t width = 0;

  int64_t size() const { return channels * height * width; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

struct ByteImage {
  ImageShape shape = {};
  std::vector<uint8_t> pixels = {};  // [channels, height, width]
};

struct ImageSet {
  ImageShape shape = {};
  std::vector<uint8_t> pixels = {};  // [images, channels, height, width]
  // [images], 0 .. classes - 1. Empty if there are no classes.
  std::vector<int32_t> labels = {};
  // The format to which image files are converted. If absent, files must
  // already have this shape.
  std::optional<ImageFormat> format = {};

  int64_t size() const {
    return pixels.empty() ? 0
                          : static_cast<int64_t>(pixels.size()) / shape.size();
  }
  const uint8_t* image(int64_t i) const {
    return pixels.data() + i * shape.size();
  }
};

struct ImageSplits {
  ImageSet train;
  ImageSet dev;                      // may be empty
  ImageSet test;                     // may be empty
  std::vector<std::string> classes;  // the name of each label
};

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_SET_H_
