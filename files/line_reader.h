// Reads lines as they arrive, from a file or a pipe.
#ifndef FILES_LINE_READER_H_
#define FILES_LINE_READER_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace regard {

// The largest size of a line on standard input.
inline constexpr size_t kMaxInputLineBytes = size_t{64} << 10;

// U+FEFF at the start of a text. It is not part of the text.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class LineEnds {
  kAny,      // \n, \r\n or \r
  kNewline,  // \n or \r\n; other \r are characters
};

class LineReader {
 public:
  // Stores up to `limit` bytes of a line, and drops the rest of the line.
  LineReader(int file_descriptor, size_t limit, LineEnds ends = LineEnds::kAny)
      : LineReader(
            [file_descriptor](char* bytes, size_t most) {
              return read(file_descriptor, bytes, most);
            },
            limit, ends) {
    file_descriptor_ = file_descriptor;
  }

  // Reads with `read`, which must behave like POSIX's read() and set errno if
  // it returns -1.
  using ReadBytes = std::function<ssize_t(char* bytes, size_t most)>;
  LineReader(ReadBytes read, size_t limit, LineEnds ends = LineEnds::kAny)
      : read_(std::move(read)), limit_(limit), ends_(ends) {}

  // Waits for the next line and sets `line` to it, without the line ending.
  // Returns false at the end of the file. Omits a byte order mark before the
  // first line. The last line need not end with a newline. Sets `cut` if the
  // line is longer than the limit and was truncated. With kNewline, a carriage
  // return counts towards the limit.
  bool Next(std::string* line, bool* cut);

  // The number of lines so far that ended in a carriage return.
  int64_t carriage_returns() const { return carriage_returns_; }
  // Whether the text began with a byte order mark.
  bool byte_order_mark() const { return byte_order_mark_; }

  // Whether Next() would return at once, or at least find the beginning of a
  // line. Only for file descriptors.
  bool HasPendingLine();

  // Returns OK if the end was reached. Otherwise returns FileError() for `name`
  // with the reason, ready to print.
  absl::Status status(absl::string_view name) const;

 private:
  // Reads more bytes into the buffer. Returns false at the end.
  bool Fill();
  // Returns the end of the line at `position_`, or npos if it is not read yet.
  size_t FindEnd() const;
  // Skips the newline that belongs to a previous carriage return.
  void SkipNewlineAfterReturn();

  int file_descriptor_ = -1;
  const ReadBytes read_;
  const size_t limit_;
  const LineEnds ends_;
  std::string buffer_;
  size_t position_ = 0;
  bool is_first_ = true;       // whether no line was read yet
  bool after_return_ = false;  // whether the last byte was \r, with kAny
  bool byte_order_mark_ = false;
  int64_t carriage_returns_ = 0;
  int error_ = 0;  // an errno
};

}  // namespace regard

#endif  // FILES_LINE_READER_H_
