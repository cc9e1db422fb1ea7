#include "data/images/image_file.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/images/image_format.h"
#include "data/images/interleaved_image.h"
#include "data/images/jpeg_image.h"
#include "data/images/png_image.h"
#include "files/file.h"
#include "files/sha256.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

absl::StatusOr<InterleavedImage> DecodeRows(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "\x89PNG")) return DecodePng(bytes);
  if (absl::StartsWith(bytes, "\xff\xd8\xff")) return DecodeJpeg(bytes);
  return absl::InvalidArgumentError("must be a PNG or JPEG file");
}

// Converts RGB to Pillow's L: the luma of ITU-R BT.601, in fixed point.
uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

}  // namespace

absl::StatusOr<ByteImage> DecodeImage(absl::string_view bytes,
                                      int64_t channels) {
  REGARD_CHECK(channels == 1 || channels == 3) << channels << " channels";
  REGARD_ASSIGN_OR_RETURN(const InterleavedImage rows, DecodeRows(bytes));
  // Pixel (y, x) of the result is the input pixel first + y * down + x * right.
  int64_t first = 0;
  int64_t down = rows.width;
  int64_t right = 1;
  const int orientation = rows.orientation;
  if (orientation == 3 || orientation == 4 || orientation == 6 ||
      orientation == 7) {
    first += (rows.height - 1) * rows.width;
    down = -down;
  }
  if (orientation == 2 || orientation == 3 || orientation == 7 ||
      orientation == 8) {
    first += rows.width - 1;
    right = -right;
  }
  ByteImage image = {.shape = {channels, rows.height, rows.width}};
  if (orientation >= 5) {
    std::swap(down, right);
    std::swap(image.shape.height, image.shape.width);
  }
  image.pixels.resize(static_cast<size_t>(image.shape.size()));
  uint8_t* out = image.pixels.data();
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = 0; y < image.shape.height; ++y) {
      for (int64_t x = 0; x < image.shape.width; ++x) {
        const uint8_t* const pixel =
            rows.bytes.data() + (first + y * down + x * right) * rows.channels;
        *out++ = rows.channels == 1 ? pixel[0]
                 : channels == 1    ? Luma(pixel)
                                    : pixel[channel];
      }
    }
  }
  return image;
}

absl::StatusOr<ByteImage> ReadImage(const std::string& path, int64_t channels,
                                    std::string* sha256) {
  const auto error = [&](const absl::Status& status, const char* wanted) {
    return absl::Status(status.code(), absl::StrCat("'", path, "': ", wanted,
                                                    status.message()));
  };
  const absl::StatusOr<std::string> bytes = ReadFile(ResolveUserPath(path));
  if (!bytes.ok()) {
    return error(bytes.status(), "cannot read a PNG or JPEG file: ");
  }
  if (sha256 != nullptr) *sha256 = Sha256Hex(*bytes);
  absl::StatusOr<ByteImage> image = DecodeImage(*bytes, channels);
  if (!image.ok()) return error(image.status(), "");
  return image;
}

absl::StatusOr<ImageSet> ReadImageLike(const std::string& path,
                                       const ImageSet& set) {
  const ImageShape& shape = set.shape;
  REGARD_ASSIGN_OR_RETURN(ByteImage image, ReadImage(path, shape.channels));
  if (set.format.has_value()) image = FitImage(image, *set.format);
  if (!(image.shape == shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "': has ", image.shape.height, " x ", image.shape.width,
        " pixels (height x width); the model requires ", shape.height, " x ",
        shape.width));
  }
  return ImageSet{
      .shape = shape, .pixels = std::move(image.pixels), .format = set.format};
}

}  // namespace regard
