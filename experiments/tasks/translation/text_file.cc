#include "experiments/tasks/translation/text_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "experiments/run/file.h"
#include "experiments/run/line_reader.h"
#include "experiments/run/sha256.h"
#include "seq2seq/utf8.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxLineBytes = int64_t{64} << 10;
constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr unsigned kBufferBytes = 1U << 16;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

struct TextFile::Stream {
  Stream(FileReader opened, gzFile zipped)
      : file(std::move(opened)),
        gzip(zipped),
        lines([this](char* bytes, size_t most) { return Read(bytes, most); },
              kMaxLineBytes + 2) {}
  ~Stream() { gzclose(gzip); }

  ssize_t Read(char* bytes, size_t most) {
    const int count = gzread(gzip, bytes, static_cast<unsigned>(most));
    int code = Z_OK;
    const char* message = gzerror(gzip, &code);
    // A stream that ends too early is an error after its last bytes.
    if (count <= 0 && code != Z_OK && code != Z_STREAM_END) {
      problem = code == Z_ERRNO ? "cannot be read"
                : code == Z_BUF_ERROR
                    ? "the compressed file is cut short"
                    : absl::StrCat("the compressed file is damaged: ", message);
    }
    return count;
  }

  FileReader file;
  gzFile gzip;  // reads plain files as they are
  LineReader lines;
  std::string problem;
};

TextFile::TextFile(std::string path, std::unique_ptr<Stream> stream)
    : path_(std::move(path)), stream_(std::move(stream)) {}
TextFile::TextFile(TextFile&& other) noexcept = default;
TextFile::~TextFile() = default;

absl::StatusOr<TextFile> TextFile::Open(const std::string& path,
                                        absl::string_view what) {
  absl::StatusOr<FileReader> file = FileReader::Open(path);
  if (!file.ok()) {
    return absl::Status(
        file.status().code(),
        absl::StrCat("error: ", what, " ", file.status().message()));
  }
  const int descriptor = fcntl(file->descriptor(), F_DUPFD_CLOEXEC, 0);
  const gzFile gzip = descriptor < 0 ? nullptr : gzdopen(descriptor, "rb");
  if (gzip == nullptr) {
    if (descriptor >= 0) close(descriptor);
    return FileError(path, "open", errno == 0 ? ENOMEM : errno);
  }
  gzbuffer(gzip, kBufferBytes);
  return TextFile(path, std::make_unique<Stream>(*std::move(file), gzip));
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
  if (!stream_->problem.empty()) {
    return Error(line_.size(), stream_->problem);
  }
  if (!any) {
    --number_;
    return false;
  }
  if (number_ == 1 && absl::ConsumePrefix(&text_, kByteOrderMark)) {
    first_column_ += static_cast<int64_t>(kByteOrderMark.size());
  }
  if (absl::ConsumeSuffix(&text_, "\r")) ++carriage_returns_;
  if (cut || static_cast<int64_t>(text_.size()) > kMaxLineBytes) {
    return Error(kMaxLineBytes, "line of more than 64 KiB");
  }
  if (const size_t nul = text_.find('\0'); nul != absl::string_view::npos) {
    return Error(nul, "NUL byte: is this a text file?");
  }
  if (const std::optional<int64_t> bad = FindInvalidUtf8(text_)) {
    return Error(*bad, "bytes that are not UTF-8");
  }
  return true;
}

absl::StatusOr<std::string> TextFile::Digest() const {
  Sha256 sha256;
  std::string block;
  const FileReader& file = stream_->file;
  for (int64_t offset = 0; offset < file.size(); offset += kBlockBytes) {
    block.resize(std::min(kBlockBytes, file.size() - offset));
    REGARD_RETURN_IF_ERROR(file.ReadAt(offset, absl::MakeSpan(block)));
    sha256.Update(block);
  }
  return sha256.HexDigest();
}

bool TextFile::IsSameFile(const TextFile& other) const {
  return stream_->file.identity() == other.stream_->file.identity();
}

}  // namespace regard
