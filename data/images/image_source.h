// Where labelled images come from.
#ifndef DATA_IMAGES_IMAGE_SOURCE_H_
#define DATA_IMAGES_IMAGE_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/images/image_set.h"

namespace regard {

class FashionMnistConfig;

struct ImageData {
  static constexpr char kName[] = "labelled images";

  ImageSplits splits;
  // SHA-256 of each file, by data.path and its name.
  std::map<std::string, std::string> digests;
  std::vector<std::string> notes;  // see Task::Notes()
};

// Reads Fashion-MNIST's files from the folder that `given`, a path of the user,
// is or has the training images in; if it is empty, from that of Debian's
// package dataset-fashion-mnist. Errors name the file and the byte; a missing
// file's says how to install the data set.
absl::StatusOr<ImageData> ReadFashionMnist(const std::string& given,
                                           const FashionMnistConfig& config);

// Makes the classes of the data those that a trained model knows. An error,
// complete to print, names one that is not among them.
absl::Status UseClasses(const std::vector<std::string>& classes,
                        ImageSplits* data);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_SOURCE_H_
