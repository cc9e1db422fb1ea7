#include "files/gzip.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace regard {
namespace {

constexpr absl::string_view kMagic = "\x1f\x8b";

}  // namespace

GzipOrPlainReader::GzipOrPlainReader(std::function<absl::string_view()> next)
    : next_(std::move(next)) {}

GzipOrPlainReader::~GzipOrPlainReader() { inflateEnd(&stream_); }

size_t GzipOrPlainReader::Read(absl::Span<char> output) {
  size_t count = 0;
  while (count == 0 && problem_.empty() && (!rest_.empty() || Refill())) {
    if (is_gzip_) {
      count = Inflate(output);
    } else {
      count = rest_.copy(output.data(), output.size());
      rest_.remove_prefix(count);
    }
  }
  return count;
}

bool GzipOrPlainReader::Refill() {
  rest_ = next_();
  if (taken_ == 0 && absl::StartsWith(rest_, kMagic)) {
    is_gzip_ = true;
    // The window has 2^15 bytes. Adding 16 selects the gzip format.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) {
      problem_ = "zlib cannot be initialized";
    }
  }
  taken_ += static_cast<int64_t>(rest_.size());
  if (!rest_.empty()) return true;
  if (is_gzip_ && !between_members_) {
    problem_ = "the compressed file is cut short; copy or download it again";
  }
  return false;
}

size_t GzipOrPlainReader::Inflate(absl::Span<char> output) {
  if (between_members_) {
    // Skips zeros, because tapes and disks pad files to whole blocks.
    rest_.remove_prefix(std::min(rest_.find_first_not_of('\0'), rest_.size()));
    if (rest_.empty()) return 0;
    inflateReset(&stream_);
  }
  stream_.next_out = reinterpret_cast<Bytef*>(output.data());
  stream_.avail_out = static_cast<uInt>(output.size());
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
  stream_.avail_in = static_cast<uInt>(rest_.size());
  const int code = inflate(&stream_, Z_NO_FLUSH);
  rest_.remove_prefix(rest_.size() - stream_.avail_in);
  between_members_ = code == Z_STREAM_END;
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
    problem_ =
        absl::StrCat("the compressed file is damaged: ",
                     stream_.msg == nullptr ? "zlib rejects it" : stream_.msg,
                     "; copy or download it again");
  }
  return output.size() - stream_.avail_out;
}

absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit) {
  if (!absl::StartsWith(bytes, kMagic)) return bytes;
  absl::string_view rest = bytes;
  GzipOrPlainReader reader([&rest] { return std::exchange(rest, {}); });
  std::string content;
  std::array<char, 65536> piece;
  while (const size_t count = reader.Read(absl::MakeSpan(piece))) {
    if (static_cast<int64_t>(content.size() + count) > limit) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": error: must have at most ", limit,
                       " bytes after decompression, but has more"));
    }
    content.append(piece.data(), count);
  }
  if (reader.problem().empty()) return content;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": error: byte ", reader.offset(), ": ", reader.problem()));
}

}  // namespace regard
