#include "data/text_file.h"

#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/gzip.h"
#include "files/sha256.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr int64_t kMaxTextBytes = int64_t{256} << 20;

// Returns the first problem of `text` and the byte at which it begins, or
// `nullopt`.
std::optional<std::pair<size_t, const char*>> FindProblem(
    absl::string_view text) {
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return std::pair(nul, "the text must not contain a NUL byte");
  }
  if (const std::optional<int64_t> bad = FindInvalidUtf8(text)) {
    return std::pair(static_cast<size_t>(*bad), "the text must be valid UTF-8");
  }
  return std::nullopt;
}

// Replaces \r\n and \r with newlines. Returns how many were replaced.
int64_t ReplaceCarriageReturns(std::string* text) {
  int64_t count = 0;
  size_t written = 0;
  for (size_t i = 0; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == '\r') {
      ++count;
      if (i + 1 < text->size() && (*text)[i + 1] == '\n') ++i;
      c = '\n';
    }
    (*text)[written++] = c;
  }
  text->resize(written);
  return count;
}

}  // namespace

absl::StatusOr<WholeText> ReadWholeText(const std::string& path,
                                        absl::string_view what,
                                        absl::string_view hint, LineEnds ends) {
  absl::StatusOr<std::string> bytes = ReadFile(path, kMaxTextBytes);
  if (!bytes.ok()) {
    return absl::Status(
        bytes.status().code(),
        absl::StrCat("error: ", what, " ", bytes.status().message(), hint));
  }
  WholeText whole = {.text = "", .sha256 = Sha256Hex(*bytes)};
  REGARD_ASSIGN_OR_RETURN(whole.text,
                          Gunzip(*std::move(bytes), path, kMaxTextBytes));
  if (absl::StartsWith(whole.text, kByteOrderMark)) {
    whole.text.erase(0, kByteOrderMark.size());
  }
  if (ends == LineEnds::kAny) {
    whole.carriage_returns = ReplaceCarriageReturns(&whole.text);
  }
  if (const auto problem = FindProblem(whole.text)) {
    return absl::InvalidArgumentError(
        ErrorInText(path, whole.text, problem->first, problem->second));
  }
  return whole;
}

// The bytes of a file, decompressed if it is a gzip file.
struct TextFile::Stream {
  Stream(RandomAccessFile opened, LineEnds ends)
      : file(std::move(opened)),
        input(kBufferBytes),
        bytes([this] { return NextPiece(); }),
        lines(
            [this](char* to, size_t most) {
              return static_cast<ssize_t>(bytes.Read({to, most}));
            },
            kMaxLineBytes + 2, ends) {}

  // Returns the next bytes, or nothing at the end or after a failed read.
  absl::string_view NextPiece() {
    const auto count = static_cast<size_t>(std::min<int64_t>(
        static_cast<int64_t>(input.size()), file.size() - offset));
    if (count == 0) return {};
    failure = file.ReadAt(offset, absl::MakeSpan(input).first(count));
    if (!failure.ok()) return {};
    offset += static_cast<int64_t>(count);
    return {input.data(), count};
  }

  RandomAccessFile file;
  int64_t offset = 0;  // offset of the bytes after `input`
  std::vector<char> input;
  absl::Status failure;  // status of the last read
  GzipOrPlainReader bytes;
  LineReader lines;
};

TextFile::TextFile(std::string path, std::unique_ptr<Stream> stream)
    : path_(std::move(path)), stream_(std::move(stream)) {}
TextFile::TextFile(TextFile&& other) noexcept = default;
TextFile::~TextFile() = default;

absl::StatusOr<TextFile> TextFile::Open(const std::string& path,
                                        absl::string_view what, LineEnds ends) {
  absl::StatusOr<RandomAccessFile> file = RandomAccessFile::Open(path);
  if (!file.ok()) {
    return absl::Status(
        file.status().code(),
        absl::StrCat("error: ", what, " ", file.status().message()));
  }
  return TextFile(path, std::make_unique<Stream>(*std::move(file), ends));
}

absl::Status TextFile::Error(size_t offset, absl::string_view problem) const {
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ":", std::max<int64_t>(number_, 1), ":",
      first_column_ + static_cast<int64_t>(offset), ": error: ", problem));
}

absl::StatusOr<bool> TextFile::Next() {
  bool cut = false;
  ++number_;
  first_column_ = 1;
  const bool any = stream_->lines.Next(&line_, &cut);
  text_ = line_;
  if (!stream_->failure.ok()) return EnsureErrorPrefix(stream_->failure);
  // The error of a truncated stream is reported after the last bytes of the
  // stream.
  if (const std::string& problem = stream_->bytes.problem(); !problem.empty()) {
    return Error(line_.size(), problem);
  }
  if (!any) {
    --number_;
    return false;
  }
  if (number_ == 1 && stream_->lines.byte_order_mark()) {
    first_column_ += static_cast<int64_t>(kByteOrderMark.size());
  }
  if (cut || static_cast<int64_t>(text_.size()) > kMaxLineBytes) {
    return Error(
        kMaxLineBytes,
        "the line is longer than 64 KiB, the limit for a line; shorten it");
  }
  if (const auto problem = FindProblem(text_)) {
    return Error(problem->first, problem->second);
  }
  return true;
}

int64_t TextFile::carriage_returns() const {
  return stream_->lines.carriage_returns();
}

absl::StatusOr<std::string> TextFile::Digest() const {
  return EnsureErrorPrefix(Sha256OfFile(stream_->file));
}

bool TextFile::IsSameFile(const TextFile& other) const {
  return stream_->file.identity() == other.stream_->file.identity();
}

}  // namespace regard
