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

// The most bytes of a line that programs take from standard input.
inline constexpr size_t kMostInputLineBytes = size_t{64} << 10;

// U+FEFF at the start of a text, which is not part of it.
inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

enum class LineEnds {
  kAny,      // \n, \r\n or \r
  kNewline,  // \n or \r\n; \r elsewhere is a character
};

class LineReader {
 public:
  // Keeps `limit` bytes of a line and drops the rest of it.
  LineReader(int file_descriptor, size_t limit, LineEnds ends = LineEnds::kAny)
      : LineReader(
            [file_descriptor](char* bytes, size_t most) {
              return read(file_descriptor, bytes, most);
            },
            limit, ends) {
    file_descriptor_ = file_descriptor;
  }

  // Reads by a function: as POSIX's read(), with errno after a -1.
  using ReadBytes = std::function<ssize_t(char* bytes, size_t most)>;
  LineReader(ReadBytes read, size_t limit, LineEnds ends = LineEnds::kAny)
      : read_(std::move(read)), limit_(limit), ends_(ends) {}

  // Waits for the next line, without its end and without a byte order mark in
  // front of the first one. False at the end. A last line needs no newline.
  // `cut` says whether the line was longer than the limit; a carriage return
  // counts with kNewline.
  bool Next(std::string* line, bool* cut);

  // Lines so far that ended in a carriage return.
  int64_t carriage_returns() const { return carriage_returns_; }
  // Whether the text began with a byte order mark.
  bool byte_order_mark() const { return byte_order_mark_; }

  // Whether Next() would return at once, though maybe with the middle of a line
  // still to come. Of a file descriptor alone.
  bool Ready();

  // OK at a true end; else FileError() of why `name` ended early, complete to
  // print.
  absl::Status status(absl::string_view name) const;

 private:
  // Reads more into the buffer; false at the end.
  bool Fill();
  // The end of the line at `position_`; npos if it is not in the buffer.
  size_t FindEnd() const;
  // Moves behind the newline that belongs to a carriage return before it.
  void SkipNewline();

  int file_descriptor_ = -1;
  const ReadBytes read_;
  const size_t limit_;
  const LineEnds ends_;
  std::string buffer_;
  size_t position_ = 0;
  bool is_first_ = true;       // whether no line was read
  bool after_return_ = false;  // whether the last byte was \r, of kAny
  bool byte_order_mark_ = false;
  int64_t carriage_returns_ = 0;
  int error_ = 0;  // an errno
};

}  // namespace regard

#endif  // FILES_LINE_READER_H_
