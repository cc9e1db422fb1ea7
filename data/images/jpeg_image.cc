#include "data/images/jpeg_image.h"

#include <turbojpeg.h>

#include <cstddef>
#include <cstdint>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "data/images/exif.h"

namespace regard {

namespace {

// The largest number of scans. Each scan of a progressive file takes time for
// all pixels, even if it has few bytes. Encoders write about ten.
constexpr int kMaxScans = 200;

constexpr absl::string_view kExif("Exif\0\0", 6);

// Properties that TurboJPEG does not return.
struct Segments {
  int scans = 0;
  absl::string_view exif = {};  // empty if there is none
};

Segments FindSegments(absl::string_view bytes) {
  Segments found;
  size_t at = 0;
  while ((at = bytes.find('\xff', at)) < bytes.size()) {
    const absl::string_view rest = bytes.substr(at);
    const auto byte = [rest](size_t i) {
      return i < rest.size() ? static_cast<uint8_t>(rest[i]) : 0;
    };
    const int marker = byte(1);
    if (marker == 0xD9) break;  // end of image
    // The byte is data of a scan, a marker without a segment, or a fill byte.
    if (marker < 0xC0 || (0xD0 <= marker && marker <= 0xD8) || marker == 0xFF) {
      ++at;
      continue;
    }
    const size_t length = size_t{256} * byte(2) + byte(3);
    const absl::string_view data = rest.substr(0, 2 + length);
    if (marker == 0xDA) ++found.scans;
    if (marker == 0xE1 && found.exif.empty() &&
        absl::StartsWith(absl::ClippedSubstr(data, 4), kExif)) {
      found.exif = data.substr(4 + kExif.size());
    }
    at += 2 + length;
  }
  return found;
}

absl::Status Damaged(tjhandle decoder) {
  return absl::InvalidArgumentError(
      absl::StrCat("is a damaged JPEG file: ", tjGetErrorStr2(decoder),
                   "; replace it with an intact copy"));
}

}  // namespace

absl::StatusOr<InterleavedImage> DecodeJpeg(absl::string_view bytes) {
  const tjhandle decoder = tjInitDecompress();
  if (decoder == nullptr) {
    return absl::UnavailableError("TurboJPEG cannot be initialized");
  }
  const absl::Cleanup free = [decoder] { tjDestroy(decoder); };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colors = -1;
  tjDecompressHeader3(decoder, data, bytes.size(), &width, &height,
                      &subsampling, &colors);
  // tjDecompressHeader3() also fails for subsampling factors without a name,
  // such as 4:1:0. Even so, TurboJPEG has read the header and can decode the
  // image.
  if (height < 1 || colors < 0) return Damaged(decoder);
  InterleavedImage rows = {.height = height, .width = width};
  if (rows.height * rows.width > kMaxImagePixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", height, " x ", width, " pixels; at most ",
                     kMaxImagePixels, " pixels are allowed"));
  }
  if (colors == TJCS_CMYK || colors == TJCS_YCCK) {
    return absl::InvalidArgumentError("is in CMYK; convert it to grey or RGB");
  }
  const Segments segments = FindSegments(bytes);
  if (segments.scans > kMaxScans) {
    return absl::InvalidArgumentError(
        absl::StrCat("has more than ", kMaxScans,
                     " scans, the limit; save it as a baseline JPEG file"));
  }
  const bool is_grey = colors == TJCS_GRAY;
  rows.channels = is_grey ? 1 : 3;
  rows.bytes.resize(
      static_cast<size_t>(rows.height * rows.width * rows.channels));
  if (tjDecompress2(decoder, data, bytes.size(), rows.bytes.data(), width,
                    /*pitch=*/0, height, is_grey ? TJPF_GRAY : TJPF_RGB,
                    TJFLAG_STOPONWARNING) != 0) {
    return Damaged(decoder);
  }
  if (!segments.exif.empty()) rows.orientation = ExifOrientation(segments.exif);
  return rows;
}

}  // namespace regard
