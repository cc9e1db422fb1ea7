#include "files/line_reader.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/match.h"
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

size_t LineReader::FindEnd() const {
  const size_t newline = buffer_.find('\n', position_);
  if (ends_ == LineEnds::kNewline) return newline;
  const absl::string_view line = absl::string_view(buffer_).substr(
      position_, newline == std::string::npos ? newline : newline - position_);
  const size_t carriage_return = line.find('\r');
  return carriage_return == absl::string_view::npos
             ? newline
             : position_ + carriage_return;
}

void LineReader::SkipNewlineAfterReturn() {
  if (!after_return_ || position_ == buffer_.size()) return;
  after_return_ = false;
  if (buffer_[position_] == '\n') ++position_;
}

bool LineReader::Next(std::string* line, bool* cut) {
  line->clear();
  *cut = false;
  const bool is_first = is_first_;
  is_first_ = false;
  const size_t limit = limit_ + (is_first ? kByteOrderMark.size() : 0);
  bool any = false;
  bool ended = false;
  bool carriage_return = false;
  while (!ended && (position_ < buffer_.size() || Fill())) {
    SkipNewlineAfterReturn();
    if (position_ == buffer_.size()) continue;
    any = true;
    const size_t found = FindEnd();
    ended = found != std::string::npos;
    const size_t end = ended ? found : buffer_.size();
    const size_t room = limit - line->size();
    *cut |= end - position_ > room;
    line->append(buffer_, position_, std::min(end - position_, room));
    carriage_return = ended && buffer_[end] == '\r';
    position_ = ended ? end + 1 : end;
  }
  after_return_ = carriage_return;
  if (is_first && absl::StartsWith(*line, kByteOrderMark)) {
    byte_order_mark_ = true;
    line->erase(0, kByteOrderMark.size());
    any = ended || !line->empty();
  } else if (line->size() > limit_) {
    *cut = true;
    line->resize(limit_);
  }
  if (ends_ == LineEnds::kNewline && !*cut && !line->empty() &&
      line->back() == '\r') {
    line->pop_back();
    carriage_return = true;
  }
  if (carriage_return) ++carriage_returns_;
  return any;
}

absl::Status LineReader::status(absl::string_view name) const {
  if (error_ == 0) return absl::OkStatus();
  return EnsureErrorPrefix(FileError(std::string(name), "read", error_));
}

bool LineReader::HasPendingLine() {
  SkipNewlineAfterReturn();
  if (position_ < buffer_.size()) return FindEnd() != std::string::npos;
  pollfd waiting = {file_descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

}  // namespace regard
