// The IDX format of the MNIST data sets: a magic number, the extents, and the
// elements, all big-endian (Y. LeCun, C. Cortes, C. Burges, "The MNIST database
// of handwritten digits").
#ifndef DATA_IMAGES_IDX_H_
#define DATA_IMAGES_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"

namespace regard {

// The content of a gzip file of one or more members (RFC 1952), or `bytes`
// themselves if they do not begin as one. Errors name `path` and the byte: a
// broken or truncated stream, and content of more than `limit` bytes.
absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit);

struct IdxArray {
  std::vector<int64_t> extents;
  absl::string_view elements;  // of the bytes that were read
};

// An array of unsigned bytes with `rank` axes. Errors name `path` and the byte:
// another magic number, and more or fewer elements than the extents say.
absl::StatusOr<IdxArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view path, int rank);

// Grey images and their labels, of two files that may be compressed. A label
// that is not below `classes`, unequal counts, and no images are errors, too.
absl::StatusOr<ImageSet> ParseLabelledImages(std::string image_bytes,
                                             absl::string_view image_path,
                                             std::string label_bytes,
                                             absl::string_view label_path,
                                             int32_t classes);

}  // namespace regard

#endif  // DATA_IMAGES_IDX_H_
