#include "files/line_reader.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "files/file.h"

namespace regard {

bool LineReader::Fill() {
  constexpr size_t kBytes = size_t{1} << 16;
  buffer_.resize(kBytes);
  ssize_t count;
  do {
    count = read_(buffer_.data(), kBytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0) error_ = errno;
  buffer_.resize(count > 0 ? static_cast<size_t>(count) : 0);
  position_ = 0;
  return count > 0;
}

bool LineReader::Next(std::string* line, bool* cut) {
  line->clear();
  *cut = false;
  bool any = false;
  bool ended = false;
  while (!ended && (position_ < buffer_.size() || Fill())) {
    any = true;
    const size_t newline = buffer_.find('\n', position_);
    const size_t end = newline == std::string::npos ? buffer_.size() : newline;
    const size_t room = limit_ - line->size();
    *cut |= end - position_ > room;
    line->append(buffer_, position_, std::min(end - position_, room));
    ended = newline != std::string::npos;
    position_ = ended ? end + 1 : end;
  }
  carriage_return_ = !*cut && !line->empty() && line->back() == '\r';
  if (carriage_return_) line->pop_back();
  return any;
}

absl::Status LineReader::status(absl::string_view name) const {
  if (error_ == 0) return absl::OkStatus();
  return WithErrorPrefix(FileError(std::string(name), "read", error_));
}

bool LineReader::Ready() {
  if (position_ < buffer_.size()) {
    return buffer_.find('\n', position_) != std::string::npos;
  }
  pollfd waiting = {file_descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

}  // namespace regard
