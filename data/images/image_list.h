// Many image files as one set.
#ifndef DATA_IMAGES_IMAGE_LIST_H_
#define DATA_IMAGES_IMAGE_LIST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"

namespace regard {

struct ListedImage {
  std::string path;
  std::string where;  // what an error about it begins with: "list.tsv:3:1"
};

// Reads a file of lines "FILE<TAB>TEXT" and calls `add` for each; an image is
// named from `folder`, or, if that is empty, from the folder of the file. Empty
// lines are passed over. Errors, complete to print, say path:line:column: a
// line without a tab, and what `add` says of the text. Returns the file's
// SHA-256.
absl::StatusOr<std::string> ReadImageList(
    const std::string& path, absl::string_view what, const std::string& folder,
    const std::function<absl::Status(ListedImage, absl::string_view text)>&
        add);

// The images, without labels, in their order. They are decoded by all threads
// of the machine, which change no bit. Appends to `digests` the SHA-256 of each
// file, a line each. Errors are complete to print: "WHERE: error: 'PATH': ...",
// the first one of the list, and more than 2^30 bytes of pixels.
absl::StatusOr<ImageSet> ReadImages(const std::vector<ListedImage>& images,
                                    const ImageFormat& format,
                                    std::string* digests);

// Which of `count` examples each split has, in rising order. The seed draws
// them.
struct SplitOrder {
  std::vector<size_t> train;
  std::vector<size_t> dev;
  std::vector<size_t> test;
};
SplitOrder DrawSplits(size_t count, double dev_fraction, double test_fraction,
                      uint64_t seed);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_LIST_H_
