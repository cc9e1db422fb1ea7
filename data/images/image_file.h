// Decodes PNG and JPEG files.
#ifndef DATA_IMAGES_IMAGE_FILE_H_
#define DATA_IMAGES_IMAGE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_set.h"

namespace regard {

// Returns the pixels of a PNG or JPEG file in grey (1 channel) or red, green
// and blue (3), rotated by its Exif orientation. Alpha is ignored. The pixels
// are equal to the result of this expression in Pillow:
//
//   ImageOps.exif_transpose(Image.open(path)).convert("L" or "RGB")
//
// As an exception, 16-bit grey is reduced to its upper 8 bits. An image may
// have at most 2^26 pixels, and at most 65535 on a side. Errors are
// InvalidArgument without the name of the file: "is a damaged PNG file: ...".
absl::StatusOr<ByteImage> DecodeImage(absl::string_view bytes,
                                      int64_t channels);

// Reads and decodes the file ResolveUserPath(path), which may have at most 64
// MiB. Errors begin with the path, as in "'PATH': is ...", and have the code of
// the failure. Sets `sha256` to the digest of the file unless `sha256` is null.
absl::StatusOr<ByteImage> ReadImage(const std::string& path, int64_t channels,
                                    std::string* sha256 = nullptr);

// Reads one image, without a label, for a model that was trained on `set`. The
// image is converted to the channels and the format of the set. If the set has
// no format, an image of another size is an error.
absl::StatusOr<ImageSet> ReadImageLike(const std::string& path,
                                       const ImageSet& set);

}  // namespace regard

#endif  // DATA_IMAGES_IMAGE_FILE_H_
