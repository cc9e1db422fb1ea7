#include "data/images/idx.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/gzip.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

absl::Status ErrorAt(absl::string_view path, int64_t byte,
                     absl::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: byte ", byte, ": ", problem));
}

uint32_t BigEndian(absl::string_view bytes, size_t offset) {
  uint32_t value = 0;
  for (size_t i = offset; i < offset + 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

struct IdxArray {
  std::vector<int64_t> extents;
  absl::string_view elements;  // view of the file's bytes
};

// Parses an array of unsigned bytes with `rank` axes. Returns an error for a
// wrong magic number or a wrong number of elements. Errors name `path` and the
// byte.
absl::StatusOr<IdxArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view path, int rank) {
  const size_t header = 4 + 4 * static_cast<size_t>(rank);
  if (bytes.size() < header) {
    return ErrorAt(path, static_cast<int64_t>(bytes.size()),
                   absl::StrCat("the file ends here, but its header must have ",
                                header, " bytes"));
  }
  // The magic number consists of two zeros, the type of unsigned bytes, and the
  // number of axes.
  const uint32_t wanted = 0x00000800 + static_cast<uint32_t>(rank);
  if (const uint32_t magic = BigEndian(bytes, 0); magic != wanted) {
    return ErrorAt(path, 0,
                   absl::StrFormat("the magic number is 0x%08x; an IDX file of "
                                   "bytes with %d axes has 0x%08x",
                                   magic, rank, wanted));
  }
  IdxArray array;
  array.elements = bytes.substr(header);
  const auto present = static_cast<int64_t>(array.elements.size());
  // The product of the extents could overflow, so it is limited to 2^62.
  constexpr int64_t kTooMany = int64_t{1} << 62;
  int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const auto extent = static_cast<int64_t>(
        BigEndian(bytes, 4 + 4 * static_cast<size_t>(axis)));
    array.extents.push_back(extent);
    elements = extent > 0 && elements > kTooMany / extent ? kTooMany
                                                          : elements * extent;
  }
  if (elements != present) {
    return ErrorAt(
        path, 4,
        absl::StrCat("the file must have ", elements,
                     elements == kTooMany ? " or more" : "",
                     " elements, as its header says, but has ", present));
  }
  return array;
}

}  // namespace

absl::StatusOr<ImageSet> ParseLabelledImages(std::string image_bytes,
                                             absl::string_view image_path,
                                             std::string label_bytes,
                                             absl::string_view label_path,
                                             int32_t classes) {
  REGARD_ASSIGN_OR_RETURN(
      const std::string image_content,
      Gunzip(std::move(image_bytes), image_path, kMaxBytes));
  REGARD_ASSIGN_OR_RETURN(
      const std::string label_content,
      Gunzip(std::move(label_bytes), label_path, kMaxBytes));
  REGARD_ASSIGN_OR_RETURN(const IdxArray images,
                          ParseIdx(image_content, image_path, /*rank=*/3));
  REGARD_ASSIGN_OR_RETURN(const IdxArray labels,
                          ParseIdx(label_content, label_path, /*rank=*/1));
  const int64_t count = images.extents[0];
  if (images.elements.empty()) {
    return ErrorAt(image_path, 4,
                   "the file must have at least one image, but has none");
  }
  if (labels.extents[0] != count) {
    return ErrorAt(
        label_path, 4,
        absl::StrCat("must have ", count, " labels, one for each image of ",
                     image_path, ", but has ", labels.extents[0]));
  }
  ImageSet set;
  set.shape = {1, images.extents[1], images.extents[2]};
  set.pixels.assign(images.elements.begin(), images.elements.end());
  for (size_t i = 0; i < labels.elements.size(); ++i) {
    const auto label = static_cast<unsigned char>(labels.elements[i]);
    if (label >= classes) {
      return ErrorAt(label_path, static_cast<int64_t>(8 + i),
                     absl::StrCat("label ", label, " must be less than ",
                                  classes, ", the number of classes"));
    }
    set.labels.push_back(label);
  }
  return set;
}

}  // namespace regard
