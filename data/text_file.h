// Text files, plain or compressed by gzip: whole, or line by line.
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
  std::string sha256;            // of the file
  int64_t carriage_returns = 0;  // of line ends, now newlines
};

// Of a file that is read line by line.
inline constexpr int64_t kMostLineBytes = int64_t{64} << 10;

// Reads a file of at most 256 MiB, unpacked if gzip compressed it. `what` and
// `hint` go into the error of one
// that cannot be read: "error: WHAT PATH: ...HINT". Errors about its text say
// path:line:column (columns count bytes, from 1): a NUL, bytes that are not
// UTF-8. With LineEnds::kAny, each line of the text ends with a newline; else
// the text is as in the file.
absl::StatusOr<WholeText> ReadWholeText(const std::string& path,
                                        absl::string_view what,
                                        absl::string_view hint,
                                        LineEnds ends = LineEnds::kAny);

class TextFile {
 public:
  // `path` as errors name it; `what` names the file in the error of one that is
  // not there. Errors are complete to print.
  static absl::StatusOr<TextFile> Open(const std::string& path,
                                       absl::string_view what,
                                       LineEnds ends = LineEnds::kAny);

  TextFile(TextFile&& other) noexcept;
  ~TextFile();

  // Goes to the next line; false at the end. A byte order mark at the start of
  // the file and the end of the line are left out. Errors
  // say path:line:column (columns count bytes, from 1): a NUL, bytes that are
  // not UTF-8, a line of more than 64 KiB, a compressed file that is damaged or
  // cut short. A read that fails is an error of the file, with FileError()'s
  // code.
  absl::StatusOr<bool> Next();

  // The line; valid until the next call of Next().
  absl::string_view text() const { return text_; }
  // Its number, from 1.
  int64_t number() const { return number_; }
  // Lines so far that ended in a carriage return.
  int64_t carriage_returns() const;

  // An error at byte `offset` of the line.
  absl::Status Error(size_t offset, absl::string_view problem) const;

  // SHA-256 of the whole file as it is on the disk.
  absl::StatusOr<std::string> Digest() const;

  // The same for two names of one file.
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
