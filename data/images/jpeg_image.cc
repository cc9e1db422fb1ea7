#include "data/images/jpeg_image.h"

// jpeglib.h uses FILE and size_t without including their headers.
#include <jpeglib.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "data/images/exif.h"

namespace regard {

namespace {

// Each scan of a progressive file costs time for all of its pixels, however few
// bytes it has; encoders write about ten.
constexpr int kMostScans = 200;

// libjpeg reports errors by longjmp(), so all that has a destructor is here.
struct JpegReader {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf failed;
  std::string problem = {};
  ImageRows rows = {};
};

JpegReader& ReaderOf(j_common_ptr info) {
  return *static_cast<JpegReader*>(info->client_data);
}

[[noreturn]] void Fail(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  ReaderOf(info).problem = absl::StrCat("is a damaged JPEG file: ", message,
                                        "; replace it with an intact copy");
  std::longjmp(ReaderOf(info).failed, 1);
}

void FailOnWarning(j_common_ptr info, int level) {
  if (level < 0) Fail(info);
}

void CheckScans(j_common_ptr info) {
  JpegReader& reader = ReaderOf(info);
  if (reader.info.input_scan_number <= kMostScans) return;
  reader.problem =
      absl::StrCat("has more than ", kMostScans,
                   " scans, the limit; save it as a baseline JPEG file");
  std::longjmp(reader.failed, 1);
}

void SayTooLarge(JpegReader& reader) {
  reader.problem = absl::StrCat("has ", reader.rows.height, " x ",
                                reader.rows.width, " pixels; at most ",
                                kMostImagePixels, " pixels are allowed");
}

// False with a problem. Nothing in here has a destructor after setjmp().
bool Decode(absl::string_view bytes, JpegReader* reader) {
  jpeg_decompress_struct* const info = &reader->info;
  ImageRows& rows = reader->rows;
  if (setjmp(reader->failed) != 0) return false;
  jpeg_create_decompress(info);
  info->progress = &reader->progress;
  jpeg_mem_src(info, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(info, TRUE);
  rows.height = info->image_height;
  rows.width = info->image_width;
  if (rows.height * rows.width > kMostImagePixels) {
    SayTooLarge(*reader);
    return false;
  }
  if (info->num_components == 4) {
    reader->problem = "is in CMYK; convert it to grey or RGB";
    return false;
  }
  rows.channels = info->num_components == 1 ? 1 : 3;
  info->out_color_space = rows.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(info);
  const auto stride = static_cast<size_t>(rows.width * rows.channels);
  rows.bytes.resize(static_cast<size_t>(rows.height) * stride);
  while (info->output_scanline < info->output_height) {
    JSAMPROW row = rows.bytes.data() + info->output_scanline * stride;
    jpeg_read_scanlines(info, &row, 1);
  }
  for (auto* marker = info->marker_list; marker != nullptr;
       marker = marker->next) {
    absl::string_view data(reinterpret_cast<const char*>(marker->data),
                           marker->data_length);
    if (!absl::ConsumePrefix(&data, absl::string_view("Exif\0\0", 6))) continue;
    rows.orientation = ExifOrientation(data);
    break;
  }
  jpeg_finish_decompress(info);
  return true;
}

}  // namespace

absl::StatusOr<ImageRows> DecodeJpeg(absl::string_view bytes) {
  JpegReader reader;
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.info.client_data = &reader;
  reader.errors.error_exit = Fail;
  reader.errors.emit_message = FailOnWarning;
  reader.progress.progress_monitor = CheckScans;
  const absl::Cleanup free = [&] { jpeg_destroy_decompress(&reader.info); };
  if (!Decode(bytes, &reader)) {
    return absl::InvalidArgumentError(reader.problem);
  }
  return std::move(reader.rows);
}

}  // namespace regard
