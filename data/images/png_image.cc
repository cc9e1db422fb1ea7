#include "data/images/png_image.h"

#include <png.h>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

absl::StatusOr<std::vector<uint8_t>> ReadPng(const std::string& path,
                                             const ImageShape& shape) {
  REGARD_CHECK(shape.channels == 1 || shape.channels == 3) << shape.channels;
  const auto error = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", parts...));
  };
  const absl::StatusOr<std::string> file = ReadFile(ResolveUserPath(path));
  if (!file.ok()) {
    return error("want a PNG file: ", file.status().message());
  }
  if (!absl::StartsWith(*file, "\x89PNG")) {
    return error("want a PNG file; this is none");
  }
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const absl::Cleanup free = [&] { png_image_free(&png); };
  if (png_image_begin_read_from_memory(&png, file->data(), file->size()) == 0) {
    return error("cannot be read: ", png.message);
  }
  if (png.height != shape.height || png.width != shape.width) {
    return error("has ", png.height, " x ", png.width,
                 " pixels (height x width); the model reads ", shape.height,
                 " x ", shape.width);
  }
  png.format = shape.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<uint8_t> rows(static_cast<size_t>(shape.size()));
  const png_color black = {};
  if (png_image_finish_read(&png, &black, rows.data(), 0, nullptr) == 0) {
    return error("cannot be read: ", png.message);
  }
  std::vector<uint8_t> pixels(rows.size());
  const auto channels = static_cast<size_t>(shape.channels);
  const size_t plane = rows.size() / channels;
  for (size_t i = 0; i < rows.size(); ++i) {
    pixels[i % channels * plane + i / channels] = rows[i];
  }
  return pixels;
}

}  // namespace regard
