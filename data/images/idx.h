// Reads the IDX format of the MNIST data sets: a magic number, the extents, and
// the elements, all big-endian (Y. LeCun, C. Cortes, C. Burges, "The MNIST
// database of handwritten digits").
#ifndef DATA_IMAGES_IDX_H_
#define DATA_IMAGES_IDX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"

namespace regard {

// Parses grey images and their labels from two files, which may be
// gzip-compressed. Errors name the file and the byte. Allocates no memory for
// elements that a header declares but the file does not contain.
//
// Returns an error for:
//
// * a damaged file,
// * a label that is not below `classes`,
// * different numbers of images and labels,
// * a file without images.
absl::StatusOr<ImageSet> ParseLabelledImages(std::string image_bytes,
                                             absl::string_view image_path,
                                             std::string label_bytes,
                                             absl::string_view label_path,
                                             int32_t classes);

}  // namespace regard

#endif  // DATA_IMAGES_IDX_H_
