// Files that gzip compressed (RFC 1952): any number of members, with any header
// fields, and zeros behind a member.
#ifndef FILES_GZIP_H_
#define FILES_GZIP_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Whether a file that begins with `bytes` is one of gzip.
bool IsGzip(absl::string_view bytes);

// Inflates a gzip file piece by piece.
class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Inflates the beginning of `input`, at most 4 GiB, into `output` and removes
  // it from `input`. Returns the number of bytes written: 0 at a problem, or
  // where more input is needed.
  size_t Next(absl::string_view* input, absl::Span<char> output);

  // A problem of the input so far; empty if there is none.
  const std::string& problem() const { return problem_; }
  // The problem of an input that ends here; empty if it may.
  std::string problem_at_end() const;

 private:
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
