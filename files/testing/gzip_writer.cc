#include "files/testing/gzip_writer.h"

#include "third_party/abseil_backport/check.h"

namespace regard {

std::string Gzip(const std::string& content, gz_header* header) {
  z_stream stream = {};
  REGARD_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK);
  if (header != nullptr) {
    REGARD_CHECK(deflateSetHeader(&stream, header) == Z_OK);
  }
  std::string copy = content;
  std::string packed(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REGARD_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace regard
