#include "experiments/run/tensorboard/png.h"

#include <zlib.h>

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "third_party/abseil_backport/check.h"

namespace regard::tensorboard {
namespace {

std::string BigEndian(uint32_t value) {
  std::string text;
  for (const int shift : {24, 16, 8, 0}) {
    text.push_back(static_cast<char>(value >> shift));
  }
  return text;
}

const Bytef* Bytes(absl::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

// A zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4).
std::string StoredZlib(absl::string_view bytes) {
  constexpr size_t kMaxBlock = 65535;
  std::string stream = "\x78\x01";
  bool last = false;
  for (size_t begin = 0; !last; begin += kMaxBlock) {
    const absl::string_view block = bytes.substr(begin, kMaxBlock);
    last = begin + block.size() == bytes.size();
    stream.push_back(last ? '\1' : '\0');
    for (const size_t length : {block.size(), ~block.size()}) {
      stream.push_back(static_cast<char>(length));
      stream.push_back(static_cast<char>(length >> 8));
    }
    absl::StrAppend(&stream, block);
  }
  return absl::StrCat(stream,
                      BigEndian(adler32_z(1, Bytes(bytes), bytes.size())));
}

void AppendChunk(absl::string_view type, absl::string_view data,
                 std::string& png) {
  const std::string body = absl::StrCat(type, data);
  absl::StrAppend(&png, BigEndian(data.size()), body,
                  BigEndian(crc32_z(0, Bytes(body), body.size())));
}

}  // namespace

std::string EncodePng(int height, int width, absl::Span<const uint8_t> rgb) {
  REGARD_CHECK_GE(height, 1);
  REGARD_CHECK_GE(width, 1);
  const size_t row_bytes = 3 * static_cast<size_t>(width);
  REGARD_CHECK_EQ(rgb.size(), height * row_bytes);
  std::string rows;
  for (size_t begin = 0; begin < rgb.size(); begin += row_bytes) {
    rows.push_back('\0');  // no filter
    rows.append(reinterpret_cast<const char*>(&rgb[begin]), row_bytes);
  }
  std::string png = "\x89PNG\r\n\x1a\n";
  // 8 bits a channel, RGB, deflate, the one filter method, not interlaced.
  AppendChunk("IHDR",
              absl::StrCat(BigEndian(width), BigEndian(height),
                           absl::string_view("\x08\x02\0\0\0", 5)),
              png);
  AppendChunk("IDAT", StoredZlib(rows), png);
  AppendChunk("IEND", "", png);
  return png;
}

}  // namespace regard::tensorboard
