// Text that is written once and read often. It is stored in an unnamed file
// that is mapped into memory. The system can therefore free the pages of the
// text at any time.
#ifndef DATA_TEXT_MAPPED_TEXT_H_
#define DATA_TEXT_MAPPED_TEXT_H_

#include <cstdint>
#include <cstdio>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace regard {

class TemporaryMappedText {
 public:
  TemporaryMappedText() = default;
  TemporaryMappedText(const TemporaryMappedText&) = delete;
  TemporaryMappedText& operator=(const TemporaryMappedText&) = delete;
  ~TemporaryMappedText();

  // Appends text. Must not be called after FinishAndMap(), which also returns
  // an error if an earlier call of Append() failed.
  void Append(absl::string_view text);

  // Finishes writing and maps the text into memory. Returns an error if the
  // temporary file cannot be written or mapped.
  absl::Status FinishAndMap();

  // The whole text. Must be called after FinishAndMap().
  absl::string_view text() const { return text_; }

  // Tells the system that the text will not be read soon.
  void AdviseNotNeeded() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> file_;
  int error_ = 0;  // errno of the first failed write
  int64_t size_ = 0;
  absl::string_view text_;
};

}  // namespace regard

#endif  // DATA_TEXT_MAPPED_TEXT_H_
