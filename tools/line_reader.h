// Reads lines as they come: whoever answers them can tell when to wait and when
// more is there already.
#ifndef TOOLS_LINE_READER_H_
#define TOOLS_LINE_READER_H_

#include <cstddef>
#include <string>

namespace regard {

class LineReader {
 public:
  // Keeps `limit` bytes of a line and drops the rest of it.
  LineReader(int file_descriptor, size_t limit)
      : file_descriptor_(file_descriptor), limit_(limit) {}

  // Waits for the next line. False at the end. A last line needs no newline.
  // `cut` says whether the line was longer than the limit.
  bool Next(std::string* line, bool* cut);

  // Whether Next() would return at once, though maybe with the middle of a line
  // still to come.
  bool Ready();

  // Why reading ended early, as an errno; 0 at a true end.
  int error() const { return error_; }

 private:
  // Reads more into the buffer; false at the end.
  bool Fill();

  const int file_descriptor_;
  const size_t limit_;
  std::string buffer_;
  size_t position_ = 0;
  int error_ = 0;
};

}  // namespace regard

#endif  // TOOLS_LINE_READER_H_
