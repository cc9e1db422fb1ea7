#include "data/text/mapped_text.h"

#include <sys/mman.h>

#include <cerrno>

#include "files/file.h"

namespace regard {

TemporaryMappedText::~TemporaryMappedText() {
  if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
}

void TemporaryMappedText::Append(absl::string_view text) {
  if (file_ == nullptr) {
    const int descriptor = SystemFiles().CreateUnnamed();
    if (descriptor >= 0) file_.reset(fdopen(descriptor, "w+"));
  }
  if (file_ == nullptr ||
      std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    if (error_ == 0) error_ = errno;
    return;
  }
  size_ += static_cast<int64_t>(text.size());
}

absl::Status TemporaryMappedText::FinishAndMap() {
  const auto error = [](int number) {
    return WriteError("a temporary file", "keep text", number);
  };
  if (error_ != 0) return error(error_);
  if (size_ == 0) return absl::OkStatus();
  if (std::fflush(file_.get()) != 0) return error(errno);
  void* const memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED,
                            fileno(file_.get()), /*offset=*/0);
  if (memory == MAP_FAILED) return error(errno);
  text_ = {static_cast<const char*>(memory), static_cast<size_t>(size_)};
  file_ = nullptr;
  return absl::OkStatus();
}

void TemporaryMappedText::AdviseNotNeeded() const {
  if (text_.empty()) return;
  madvise(const_cast<char*>(text_.data()), text_.size(), MADV_DONTNEED);
}

}  // namespace regard
