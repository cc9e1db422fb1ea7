#include "data/text_file.h"

#include <sys/types.h>
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/sha256.h"
#include "files/utf8.h"

namespace regard {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr absl::string_view kGzipMagic = "\x1f\x8b";
// 15 bits of window, and the header of gzip.
constexpr int kGzipWindow = 16 + 15;
constexpr int64_t kMostTextBytes = int64_t{256} << 20;

// What makes `text` no text, and at which byte.
std::optional<std::pair<size_t, const char*>> FindProblem(
    absl::string_view text) {
  if (const size_t nul = text.find('\0'); nul != absl::string_view::npos) {
    return std::pair(nul, "NUL byte: is this a text file?");
  }
  if (const std::optional<int64_t> bad = FindInvalidUtf8(text)) {
    return std::pair(static_cast<size_t>(*bad), "bytes that are not UTF-8");
  }
  return std::nullopt;
}

// Makes \r\n and \r newlines. Returns how many there were.
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
  absl::StatusOr<std::string> bytes = ReadFile(path, kMostTextBytes);
  if (!bytes.ok()) {
    return absl::Status(
        bytes.status().code(),
        absl::StrCat("error: ", what, " ", bytes.status().message(), hint));
  }
  WholeText whole = {.text = "", .sha256 = Sha256Hex(*bytes)};
  whole.text = *std::move(bytes);
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

// The bytes of a file, unpacked if it is one of gzip, member after member.
struct TextFile::Stream {
  Stream(FileReader opened, LineEnds ends)
      : file(std::move(opened)),
        input(kBufferBytes),
        lines([this](char* bytes, size_t most) { return Read(bytes, most); },
              kMostLineBytes + 2, ends) {}
  ~Stream() {
    if (zipped) inflateEnd(&inflater);
  }

  // False at the end of the file.
  bool Fill() {
    const auto count = static_cast<size_t>(std::min<int64_t>(
        static_cast<int64_t>(input.size()), file.size() - offset));
    if (count == 0) return false;
    failure = file.ReadAt(offset, absl::MakeSpan(input).first(count));
    if (!failure.ok()) return false;
    if (offset == 0) {
      zipped = absl::StartsWith({input.data(), count}, kGzipMagic) &&
               inflateInit2(&inflater, kGzipWindow) == Z_OK;
    }
    offset += static_cast<int64_t>(count);
    inflater.next_in = reinterpret_cast<Bytef*>(input.data());
    inflater.avail_in = static_cast<uInt>(count);
    return true;
  }

  // A stream that ends too early is an error after its last bytes.
  ssize_t Read(char* bytes, size_t most) {
    if (inflater.avail_in == 0 && !zipped && !Fill()) return 0;
    if (!zipped) {
      const size_t count = std::min<size_t>(most, inflater.avail_in);
      std::copy_n(inflater.next_in, count, bytes);
      inflater.next_in += count;
      inflater.avail_in -= static_cast<uInt>(count);
      return static_cast<ssize_t>(count);
    }
    inflater.next_out = reinterpret_cast<Bytef*>(bytes);
    inflater.avail_out = static_cast<uInt>(most);
    while (inflater.avail_out == most && problem.empty()) {
      if (inflater.avail_in == 0 && !Fill()) {
        if (!between_members && problem.empty()) {
          problem = "the compressed file is cut short";
        }
        break;
      }
      if (between_members) inflateReset(&inflater);
      const int code = inflate(&inflater, Z_NO_FLUSH);
      between_members = code == Z_STREAM_END;
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
        problem = absl::StrCat(
            "the compressed file is damaged: ",
            inflater.msg == nullptr ? "zlib refuses it" : inflater.msg);
      }
    }
    return static_cast<ssize_t>(most - inflater.avail_out);
  }

  FileReader file;
  int64_t offset = 0;  // of what comes after `input`
  std::vector<char> input;
  z_stream inflater = {};  // of a plain file, where in `input` it is read
  bool zipped = false;
  bool between_members = false;
  LineReader lines;
  absl::Status failure;  // of the last read
  std::string problem;   // of what was read
};

TextFile::TextFile(std::string path, std::unique_ptr<Stream> stream)
    : path_(std::move(path)), stream_(std::move(stream)) {}
TextFile::TextFile(TextFile&& other) noexcept = default;
TextFile::~TextFile() = default;

absl::StatusOr<TextFile> TextFile::Open(const std::string& path,
                                        absl::string_view what, LineEnds ends) {
  absl::StatusOr<FileReader> file = FileReader::Open(path);
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
  if (!stream_->failure.ok()) return WithErrorPrefix(stream_->failure);
  if (!stream_->problem.empty()) {
    return Error(line_.size(), stream_->problem);
  }
  if (!any) {
    --number_;
    return false;
  }
  if (number_ == 1 && stream_->lines.byte_order_mark()) {
    first_column_ += static_cast<int64_t>(kByteOrderMark.size());
  }
  if (cut || static_cast<int64_t>(text_.size()) > kMostLineBytes) {
    return Error(kMostLineBytes, "line of more than 64 KiB");
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
  return WithErrorPrefix(Sha256OfFile(stream_->file));
}

bool TextFile::IsSameFile(const TextFile& other) const {
  return stream_->file.identity() == other.stream_->file.identity();
}

}  // namespace regard
