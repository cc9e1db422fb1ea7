// The IDX format of the MNIST data sets: a magic number, the extents, and the
// elements, all big-endian (Y. LeCun, C. Cortes, C. Burges, "The MNIST database
// of handwritten digits").
#ifndef DATA_IMAGES_IDX_H_
#define DATA_IMAGES_IDX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"

namespace regard {

// The content of a gzip file of one or more members (RFC 1952), or `bytes`
// themselves if they do not begin as one. Errors name `path` and the byte: a
// broken or truncated stream, and content of more than `limit` bytes.
absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit);

// Grey images and their labels, of two files that may be compressed. A label
// that is not below `classes`, unequal counts, and no images are errors, too.
absl::StatusOr<ImageSet> ParseLabelledImages(std::string image_bytes,
                                             absl::string_view image_path,
                                             std::string label_bytes,
                                             absl::string_view label_path,
                                             int32_t classes);

}  // namespace regard

#endif  // DATA_IMAGES_IDX_H_
