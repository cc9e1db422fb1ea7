// Images in PNG and JPEG files.
#ifndef DATA_IMAGES_IMAGE_FILE_H_
#define DATA_IMAGES_IMAGE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"

namespace regard {

// The pixels of a PNG or JPEG file, in grey (1 channel) or red, green and blue
// (3), turned as its Exif orientation says. Equal to those of Pillow's
//
//   ImageOps.exif_transpose(Image.open(path)).convert("L" or "RGB")
//
// which drops alpha; but of grey in 16 bits the upper 8 are kept. An
// InvalidArgument says what is wrong, without the file's name: "is a damaged
// PNG file: ...". At most 2^26 pixels are decoded, 65535 on a side.
absl::StatusOr<Image> DecodeImage(absl::string_view bytes, int64_t channels);

// The same of a file of at most 64 MiB. `path` is as the user gave it; an error
// begins with it: "'PATH': is ...", and has the code of what failed. Sets
// `sha256`, if it is not null, to the digest of the file.
absl::StatusOr<Image> ReadImage(const std::string& path, int64_t channels,
                                std::string* sha256 = nullptr);

// The same as an image of `set`, alone and without a label: in as many
// channels, and in the format of the set; without one, another size is an
// error.
absl::StatusOr<ImageSet> ReadImageLike(const std::string& path,
                                       const ImageSet& set);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_FILE_H_
