// The data sources of labelled images: shapes, Fashion-MNIST, users' files.
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
  // SHA-256 digests, by the config field that names the files, such as
  // "data.images.labels".
  std::map<std::string, std::string> digests;
  std::vector<std::string> notes;  // see Task::Notes()
};

// Reads the files of Fashion-MNIST. `given` is a path from the user: the
// directory of the files, or the file of training images in this directory. If
// empty, reads the directory of Debian's package dataset-fashion-mnist. Errors
// name the file and the byte. The error for a missing file says how to install
// the data set.
absl::StatusOr<ImageData> ReadFashionMnist(const std::string& given,
                                           const FashionMnistConfig& config);

// Replaces the classes of the data with the classes of a trained model. Returns
// an error, ready to print, for a class that the model does not have.
absl::Status ReplaceClasses(const std::vector<std::string>& classes,
                            ImageSplits* data);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_SOURCE_H_
