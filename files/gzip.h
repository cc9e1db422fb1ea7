// Files that gzip compressed (RFC 1952): any number of members, with any header
// fields, and zeros behind a member.
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

// Reads the bytes of a file, inflated if they begin as gzip.
class GunzipReader {
 public:
  // `next` returns the next piece of the file, at most 4 GiB, empty at its end.
  // A piece stays valid until the next call. The first has two bytes if the
  // file does.
  explicit GunzipReader(std::function<absl::string_view()> next);
  ~GunzipReader();
  GunzipReader(const GunzipReader&) = delete;
  GunzipReader& operator=(const GunzipReader&) = delete;

  // Returns the number of bytes written to `output`, which is not empty: 0 at
  // the end or at a problem.
  size_t Read(absl::Span<char> output);

  // A problem of the file so far; empty if there is none.
  const std::string& problem() const { return problem_; }
  // How many bytes of the file have been used.
  int64_t offset() const { return taken_ - static_cast<int64_t>(rest_.size()); }

 private:
  // Reads the next piece into `rest_`; false at the end.
  bool Refill();
  size_t Inflate(absl::Span<char> output);

  std::function<absl::string_view()> next_;
  absl::string_view rest_;  // unread part of the piece
  int64_t taken_ = 0;       // bytes of all pieces so far
  bool is_gzip_ = false;
  z_stream stream_ = {};
  bool between_members_ = false;
  std::string problem_;
};

// The content of the gzip file `bytes`, or `bytes` themselves if they do not
// begin as one. Errors name `path` and the byte: a broken or truncated stream,
// and content of more than `limit` bytes.
absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit);

}  // namespace regard

#endif  // FILES_GZIP_H_
