// Reads plain or gzip-compressed text files, as a whole or line by line.
#ifndef DATA_TEXT_FILE_H_
#define DATA_TEXT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/line_reader.h"

namespace regard {

struct WholeText {
  std::string text;              // without a byte order mark
  std::string sha256;            // digest of the file
  int64_t carriage_returns = 0;  // number of \r at line ends
};

// The largest size of a line in a file that is read line by line.
inline constexpr int64_t kMaxLineBytes = int64_t{64} << 10;

// Reads a file of at most 256 MiB after decompression. `what` and `hint` appear
// in the error for a file that cannot be read: "error: WHAT PATH: ...HINT". A
// NUL, and bytes that are not UTF-8, are errors that begin with
// path:line:column. Columns count bytes from 1. With LineEnds::kAny, each line
// of the text ends with a newline. With kNewline, the text is as in the file.
absl::StatusOr<WholeText> ReadWholeText(const std::string& path,
                                        absl::string_view what,
                                        absl::string_view hint,
                                        LineEnds ends = LineEnds::kAny);

class TextFile {
 public:
  // Opens a file. Errors contain `what` and `path`, and are ready to print.
  static absl::StatusOr<TextFile> Open(const std::string& path,
                                       absl::string_view what,
                                       LineEnds ends = LineEnds::kAny);

  TextFile(TextFile&& other) noexcept;
  ~TextFile();

  // Reads the next line. Returns false at the end. Omits a byte order mark at
  // the start of the file, and the end of the line.
  //
  // Errors begin with path:line:column, where columns count bytes from 1. These
  // are errors:
  //
  // * a NUL, and bytes that are not UTF-8,
  // * a line of more than 64 KiB,
  // * a compressed file that is damaged or truncated.
  //
  // If reading fails, returns an error that names the file, with the code of
  // FileError().
  absl::StatusOr<bool> Next();

  // The line. Valid until the next call of Next().
  absl::string_view text() const { return text_; }
  // The number of the line, from 1.
  int64_t number() const { return number_; }
  // The number of lines so far that ended in a carriage return.
  int64_t carriage_returns() const;

  // Returns an error at byte `offset` of the line.
  absl::Status Error(size_t offset, absl::string_view problem) const;

  // Returns the SHA-256 of the whole file as stored on the disk.
  absl::StatusOr<std::string> Digest() const;

  // Whether both objects read the same file, possibly under two names.
  bool IsSameFile(const TextFile& other) const;

 private:
  struct Stream;

  TextFile(std::string path, std::unique_ptr<Stream> stream);

  std::string path_;
  std::unique_ptr<Stream> stream_;
  std::string line_;
  absl::string_view text_;
  int64_t number_ = 0;
  int64_t first_column_ = 1;
};

}  // namespace regard

#endif  // DATA_TEXT_FILE_H_
