// Text that is written once and read often, in a file without a name that is
// mapped into memory: the system may take its pages back at any time.
#ifndef DATA_TEXT_MAPPED_TEXT_H_
#define DATA_TEXT_MAPPED_TEXT_H_

#include <cstdint>
#include <cstdio>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace regard {

class MappedText {
 public:
  MappedText() = default;
  MappedText(const MappedText&) = delete;
  MappedText& operator=(const MappedText&) = delete;
  ~MappedText();

  // Before Map() alone; errors are those of Map().
  void Append(absl::string_view text);

  // Ends the writing. An error if the temporary file cannot be written.
  absl::Status Map();

  // All of the text, after Map().
  absl::string_view text() const { return text_; }

  // Says that the text will not be read for a while.
  void Release() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> file_;
  int error_ = 0;  // errno of the first write that failed
  int64_t size_ = 0;
  absl::string_view text_;
};

}  // namespace regard

#endif  // DATA_TEXT_MAPPED_TEXT_H_
