// Reads gzip-compressed files (RFC 1952). Supports several members, all header
// fields, and zeros after a member.
#ifndef FILES_GZIP_H_
#define FILES_GZIP_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Reads a file, and decompresses it if it begins like a gzip file.
class GzipOrPlainReader {
 public:
  // `next` must return the next chunk of the file, at most 4 GiB, and an empty
  // chunk at the end of the file. A chunk must stay valid until the next call.
  // The first chunk must have at least two bytes, unless the file is shorter.
  explicit GzipOrPlainReader(std::function<absl::string_view()> next);
  ~GzipOrPlainReader();
  GzipOrPlainReader(const GzipOrPlainReader&) = delete;
  GzipOrPlainReader& operator=(const GzipOrPlainReader&) = delete;

  // Writes to `output`, which must not be empty. Returns the number of written
  // bytes, which is 0 at the end of the file or after a problem.
  size_t Read(absl::Span<char> output);

  // The first problem of the file, or "".
  const std::string& problem() const { return problem_; }
  // The number of bytes of the file that were decompressed or copied.
  int64_t offset() const { return taken_ - static_cast<int64_t>(rest_.size()); }

 private:
  // Reads the next chunk into `rest_`. Returns false at the end.
  bool Refill();
  size_t Inflate(absl::Span<char> output);

  std::function<absl::string_view()> next_;
  absl::string_view rest_;  // unread part of the chunk
  int64_t taken_ = 0;       // bytes of all chunks so far
  bool is_gzip_ = false;
  z_stream stream_ = {};
  bool between_members_ = false;
  std::string problem_;
};

// Returns the content of the gzip file `bytes`, or `bytes` unchanged if they do
// not begin like a gzip file. Returns an error for a broken or truncated
// stream, and for content of more than `limit` bytes. Errors name `path` and
// the byte.
absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit);

}  // namespace regard

#endif  // FILES_GZIP_H_
