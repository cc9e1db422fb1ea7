// Reads many image files as one set.
#ifndef DATA_IMAGES_IMAGE_LIST_H_
#define DATA_IMAGES_IMAGE_LIST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"
#include "files/file.h"

namespace regard {

class ImageFormat;

struct ListedImagePath {
  std::string path;
  std::string where;  // prefix of errors about the image: "list.tsv:3:1"
};

struct ImageListSpec {
  std::string path;
  const char* what;  // "list of labels", for the error of a missing file
  // The folder to which names are relative. If empty, the folder of the list.
  std::string folder;
  // The folder that must contain all images. If empty, the folder to which
  // names are relative.
  std::string root;
  // The field of the config that sets `root`, for error messages.
  const char* root_field;
};

// Returns the field `root` of the options as a resolved path, or "" if it is
// not given.
std::string RootOf(const auto& options) {
  return options.root().empty() ? "" : ResolveUserPath(options.root());
}

// Reads a file of lines "FILE<TAB>TEXT" and calls `add` for each line. Ignores
// empty lines. Returns the file's SHA-256.
//
// Errors are ready to print and begin with path:line:column. They report:
//
// * a line without a tab,
// * an image whose path leaves the root (symbolic links are not resolved),
// * the errors that `add` returns.
absl::StatusOr<std::string> ReadImageList(
    const ImageListSpec& list,
    const std::function<absl::Status(ListedImagePath, absl::string_view text)>&
        add);

// Returns an error, ready to print, if the images take more than 2^30 bytes.
absl::Status CheckImageBytes(const std::vector<ListedImagePath>& images,
                             const ImageFormat& format);

// The errors of images that cannot be read, by path.
using BadImages = std::map<std::string, absl::Status>;

// Reads the images in order, without labels. Decodes them on all threads of the
// machine. The result does not depend on the number of threads. Appends the
// SHA-256 of each file to `digests`, one per line. An image that cannot be read
// is added to `bad`, and its pixels are black. Returns the error of
// CheckImageBytes(), if any.
absl::StatusOr<ImageSet> ReadImages(const std::vector<ListedImagePath>& images,
                                    const ImageFormat& format,
                                    std::string* digests, BadImages* bad);

// Returns an error, ready to print, if any of `images` is bad. The error names
// the first 20 bad images, "WHERE: error: 'PATH': ...", one per line, and their
// total number. If the machine failed to read an image, the error has the code
// of this failure.
absl::Status BadImagesError(const std::vector<ListedImagePath>& images,
                            const BadImages& bad);

// The indices of the examples of each split, in ascending order. The seed
// determines which of the `count` examples are in each split.
struct SplitIndices {
  std::vector<size_t> train;
  std::vector<size_t> dev;
  std::vector<size_t> test;
};
SplitIndices DrawSplits(size_t count, double dev_fraction, double test_fraction,
                        uint64_t seed);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_LIST_H_
