// Reads lines as they arrive, from a file or a pipe.
#ifndef FILES_LINE_READER_H_
#define FILES_LINE_READER_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace regard {

// The most bytes of a line that programs take from standard input.
inline constexpr size_t kMostInputLineBytes = size_t{64} << 10;

class LineReader {
 public:
  // Keeps `limit` bytes of a line and drops the rest of it.
  LineReader(int file_descriptor, size_t limit)
      : LineReader(
            [file_descriptor](char* bytes, size_t most) {
              return read(file_descriptor, bytes, most);
            },
            limit) {
    file_descriptor_ = file_descriptor;
  }

  // Reads by a function: as POSIX's read(), with errno after a -1.
  using ReadBytes = std::function<ssize_t(char* bytes, size_t most)>;
  LineReader(ReadBytes read, size_t limit)
      : read_(std::move(read)), limit_(limit) {}

  // Waits for the next line, without the carriage return at its end. False at
  // the end. A last line needs no newline. `cut` says whether the line, with
  // its carriage return, was longer than the limit.
  bool Next(std::string* line, bool* cut);

  // Whether the last line had a carriage return.
  bool carriage_return() const { return carriage_return_; }

  // Whether Next() would return at once, though maybe with the middle of a line
  // still to come. Of a file descriptor alone.
  bool Ready();

  // OK at a true end; else FileError() of why `name` ended early, complete to
  // print.
  absl::Status status(absl::string_view name) const;

 private:
  // Reads more into the buffer; false at the end.
  bool Fill();

  int file_descriptor_ = -1;
  const ReadBytes read_;
  const size_t limit_;
  std::string buffer_;
  size_t position_ = 0;
  bool carriage_return_ = false;
  int error_ = 0;  // an errno
};

}  // namespace regard

#endif  // FILES_LINE_READER_H_
