// Many image files as one set.
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

struct ListedImage {
  std::string path;
  std::string where;  // what an error about it begins with: "list.tsv:3:1"
};

struct ImageList {
  std::string path;
  const char* what;  // "list of labels", in the error of an absent file
  // An image is named from `folder`, or, if that is empty, from the folder of
  // the file.
  std::string folder;
  // The folder that must hold all images, by the field `root_field` of the
  // config; empty: the folder that they are named from.
  std::string root;
  const char* root_field;
};

// The `root` of an option, as a path.
std::string RootOf(const auto& options) {
  return options.root().empty() ? "" : ResolveUserPath(options.root());
}

// Reads a file of lines "FILE<TAB>TEXT" and calls `add` for each. Empty lines
// are passed over. Errors, complete to print, say path:line:column: a line
// without a tab, an image outside of the root by its name, whatever links say,
// and what `add` says of the text. Returns the file's SHA-256.
absl::StatusOr<std::string> ReadImageList(
    const ImageList& list,
    const std::function<absl::Status(ListedImage, absl::string_view text)>&
        add);

// An error, complete to print, if the images take more than 2^30 bytes in this
// format.
absl::Status CheckImageBytes(const std::vector<ListedImage>& images,
                             const ImageFormat& format);

// The problems of images that cannot be read, by their paths.
using BadImages = std::map<std::string, absl::Status>;

// The images, without labels, in their order. They are decoded by all threads
// of the machine, which change no bit. Appends to `digests` the SHA-256 of each
// file, a line each. Images that cannot be read are added to `bad`, and black.
// Errors are those of CheckImageBytes().
absl::StatusOr<ImageSet> ReadImages(const std::vector<ListedImage>& images,
                                    const ImageFormat& format,
                                    std::string* digests, BadImages* bad);

// An error, complete to print, if there are bad ones among `images`: names the
// first 20, "WHERE: error: 'PATH': ...", a line each, and says how many there
// are. A failure of the machine to read one gives the error its code.
absl::Status BadImagesError(const std::vector<ListedImage>& images,
                            const BadImages& bad);

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
