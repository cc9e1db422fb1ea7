// Where labelled images come from.
#ifndef DATA_IMAGES_IMAGE_SOURCE_H_
#define DATA_IMAGES_IMAGE_SOURCE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"
#include "data/images/images.pb.h"

namespace regard {

struct ImageData {
  static constexpr char kName[] = "labelled images";

  ImageSplits splits;
  // SHA-256 of each file, by data.path and its name.
  std::map<std::string, std::string> digests;
};

// The folder of Debian's package dataset-fashion-mnist.
inline constexpr absl::string_view kFashionMnistFolder =
    "/usr/share/datasets/fashion-mnist";

// Reads Fashion-MNIST's files from a folder, or from that of the training
// images. Errors name the file and the byte; a missing file's says how to
// install the data set.
absl::StatusOr<ImageData> ReadFashionMnist(const std::string& path,
                                           const FashionMnistConfig& config);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_SOURCE_H_
