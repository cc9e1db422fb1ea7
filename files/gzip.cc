#include "files/gzip.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace regard {

bool IsGzip(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\x1f\x8b");
}

Inflater::Inflater() {
  // 15 bits of window; 16: with a gzip header.
  if (inflateInit2(&stream_, 15 + 16) != Z_OK) {
    problem_ = "zlib cannot be initialized";
  }
}

Inflater::~Inflater() { inflateEnd(&stream_); }

size_t Inflater::Next(absl::string_view* input, absl::Span<char> output) {
  stream_.next_out = reinterpret_cast<Bytef*>(output.data());
  stream_.avail_out = static_cast<uInt>(output.size());
  while (stream_.avail_out == output.size() && problem_.empty()) {
    if (between_members_) {
      // Tapes and disks pad files to whole blocks.
      input->remove_prefix(
          std::min(input->find_first_not_of('\0'), input->size()));
      if (input->empty()) return 0;
      inflateReset(&stream_);
    }
    stream_.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(input->data()));
    stream_.avail_in = static_cast<uInt>(input->size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    input->remove_prefix(input->size() - stream_.avail_in);
    between_members_ = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      problem_ =
          absl::StrCat("the compressed file is damaged: ",
                       stream_.msg == nullptr ? "zlib rejects it" : stream_.msg,
                       "; copy or download it again");
    }
    if (input->empty()) break;
  }
  return output.size() - stream_.avail_out;
}

std::string Inflater::problem_at_end() const {
  if (!problem_.empty() || between_members_) return problem_;
  return "the compressed file is cut short; copy or download it again";
}

absl::StatusOr<std::string> Gunzip(std::string bytes, absl::string_view path,
                                   int64_t limit) {
  if (!IsGzip(bytes)) return bytes;
  Inflater inflater;
  absl::string_view rest = bytes;
  std::string content;
  std::array<char, 65536> piece;
  while (true) {
    const size_t count = inflater.Next(&rest, absl::MakeSpan(piece));
    if (static_cast<int64_t>(content.size() + count) > limit) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": error: must have at most ", limit,
                       " bytes after decompression, but has more"));
    }
    content.append(piece.data(), count);
    const bool at_end = count == 0 && rest.empty();
    if (!at_end && inflater.problem().empty()) continue;
    const std::string problem = inflater.problem_at_end();
    if (problem.empty()) return content;
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": error: byte ", bytes.size() - rest.size(), ": ", problem));
  }
}

}  // namespace regard
