#include "experiments/config/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "seq2seq/utf8.h"

namespace regard {
namespace {

absl::Status SystemError() {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot be read: ", std::strerror(errno)));
}

absl::Status TooLarge(absl::string_view size) {
  return absl::InvalidArgumentError(absl::StrCat(
      "has ", size, " bytes; a config has at most ", kMostConfigBytes));
}

// At most one byte more than a config may have.
absl::StatusOr<std::string> ReadAll(int file) {
  std::string text(kMostConfigBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError();
    if (count == 0) break;
    size += count;
  }
  text.resize(size);
  return text;
}

}  // namespace

std::string ResolveUserPath(absl::string_view path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || absl::StartsWith(path, "/") || directory == nullptr ||
      *directory == '\0') {
    return std::string(path);
  }
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/",
                      path);
}

absl::StatusOr<ConfigFile> ReadConfigFile(absl::string_view path) {
  // A pipe without a writer must not keep us waiting.
  const int file =
      open(ResolveUserPath(path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return SystemError();
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat info;
  if (fstat(file, &info) != 0) return SystemError();
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError("is a directory, not a config");
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError("is not a regular file");
  }
  if (info.st_size > static_cast<off_t>(kMostConfigBytes)) {
    return TooLarge(absl::StrCat(info.st_size));
  }
  absl::StatusOr<std::string> text = ReadAll(file);
  if (!text.ok()) return text.status();
  if (text->size() > kMostConfigBytes) return TooLarge("more");
  return ConfigFile{*std::move(text), info.st_dev, info.st_ino};
}

std::optional<TextProblem> FindEncodingProblem(absl::string_view text) {
  if (text.empty()) return TextProblem{{0, 1}, "the config is empty"};
  if (text.size() > kMostConfigBytes) {
    return TextProblem{
        {0, 1}, std::string(TooLarge(absl::StrCat(text.size())).message())};
  }
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    return TextProblem{{0, 1},
                       "the file begins with a byte order mark (BOM); save it "
                       "as UTF-8 without one"};
  }
  const size_t nul = text.find('\0');
  const std::optional<int64_t> bad = FindInvalidUtf8(text);
  const size_t invalid =
      bad.has_value() ? static_cast<size_t>(*bad) : absl::string_view::npos;
  if (nul == absl::string_view::npos && invalid == absl::string_view::npos) {
    return std::nullopt;
  }
  if (nul < invalid) {
    return TextProblem{{nul, 1}, "a NUL byte: this is not a text config"};
  }
  return TextProblem{
      {invalid, 1},
      absl::StrFormat("byte 0x%02X is not valid UTF-8",
                      static_cast<unsigned char>(text[invalid]))};
}

}  // namespace regard
