#include "data/images/png_image.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "data/images/exif.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

absl::Status Damaged(absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(
      "is a damaged PNG file: ", problem, "; replace it with an intact copy"));
}

// Contains all variables with destructors, because libpng reports errors by
// longjmp().
struct PngReader {
  absl::string_view rest;
  std::string problem = {};
  png_structp png = nullptr;
  png_infop info = nullptr;
  InterleavedImage rows = {};
  std::vector<png_bytep> row_begins = {};
};

void Fail(png_structp png, png_const_charp message) {
  static_cast<PngReader*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void Ignore(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep bytes, size_t count) {
  absl::string_view& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest;
  if (count > rest.size()) png_error(png, "the file is cut short");
  std::memcpy(bytes, rest.data(), count);
  rest.remove_prefix(count);
}

// Checks that all chunks up to the last one are complete. libpng would allocate
// the length that a chunk claims before it reads the chunk.
absl::Status CheckChunks(absl::string_view bytes) {
  constexpr size_t kSignature = 8;
  constexpr size_t kHeader = 8;    // length and name
  constexpr size_t kChecksum = 4;  // follows the data
  absl::string_view rest = bytes.substr(std::min(kSignature, bytes.size()));
  while (rest.size() >= kHeader) {
    const size_t length =
        png_get_uint_32(reinterpret_cast<png_const_bytep>(rest.data()));
    const absl::string_view name = rest.substr(4, 4);
    const size_t size = kHeader + length + kChecksum;
    if (size > rest.size()) {
      return Damaged(absl::StrCat("the file ends within its chunk '",
                                  absl::CHexEscape(name), "' of ", length,
                                  " bytes"));
    }
    if (name == "IEND") return absl::OkStatus();
    rest.remove_prefix(size);
  }
  return Damaged("the file is cut short");
}

// Returns false if there is a problem. No variable in this function may have a
// destructor, because of longjmp().
bool Decode(PngReader* reader) {
  const png_structp png = reader->png;
  const png_infop info = reader->info;
  InterleavedImage& rows = reader->rows;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, reader, ReadBytes);
  png_set_user_limits(png, kLongestImageSide, kLongestImageSide);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, info);
  rows.height = png_get_image_height(png, info);
  rows.width = png_get_image_width(png, info);
  if (rows.height * rows.width > kMaxImagePixels) {
    png_error(png, "it has too many pixels");
  }
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) {
    png_set_palette_to_rgb(png);
  }
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  rows.channels = png_get_channels(png, info);
  const size_t stride = png_get_rowbytes(png, info);
  rows.bytes.resize(static_cast<size_t>(rows.height) * stride);
  for (int64_t row = 0; row < rows.height; ++row) {
    reader->row_begins.push_back(rows.bytes.data() +
                                 static_cast<size_t>(row) * stride);
  }
  png_read_image(png, reader->row_begins.data());
  png_read_end(png, info);
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &size, &exif) != 0) {
    rows.orientation = ExifOrientation(
        absl::string_view(reinterpret_cast<const char*>(exif), size));
  }
  return true;
}

}  // namespace

absl::StatusOr<InterleavedImage> DecodePng(absl::string_view bytes) {
  REGARD_RETURN_IF_ERROR(CheckChunks(bytes));
  PngReader reader = {.rest = bytes};
  reader.png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, Fail, Ignore);
  if (reader.png == nullptr) {
    return absl::UnavailableError("libpng cannot be initialized");
  }
  const absl::Cleanup free = [&] {
    png_destroy_read_struct(&reader.png, &reader.info, nullptr);
  };
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) {
    return absl::UnavailableError("libpng is out of memory");
  }
  if (!Decode(&reader)) return Damaged(reader.problem);
  return std::move(reader.rows);
}

}  // namespace regard
