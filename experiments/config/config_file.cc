#include "experiments/config/config_file.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/utf8.h"

namespace regard {
namespace {

std::string TooLarge(size_t size) {
  return absl::StrCat("has ", size, " bytes; a config has at most ",
                      kMostConfigBytes);
}

// The status without the path that its message begins with.
absl::Status WithoutPath(const absl::Status& status, const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StripPrefix(status.message(), absl::StrCat(path, ": ")));
}

}  // namespace

absl::StatusOr<ConfigFile> ReadConfigFile(absl::string_view path) {
  const std::string resolved = ResolveUserPath(path);
  const absl::StatusOr<FileReader> file = FileReader::Open(resolved);
  if (!file.ok()) return WithoutPath(file.status(), resolved);
  if (file->size() > static_cast<int64_t>(kMostConfigBytes)) {
    return absl::InvalidArgumentError(
        TooLarge(static_cast<size_t>(file->size())));
  }
  ConfigFile config{std::string(static_cast<size_t>(file->size()), '\0'),
                    file->identity()};
  const absl::Status read = file->ReadAt(0, absl::MakeSpan(config.text));
  if (!read.ok()) return WithoutPath(read, resolved);
  return config;
}

std::optional<TextProblem> FindEncodingProblem(absl::string_view text) {
  if (text.empty()) return TextProblem{{0, 1}, "the config is empty"};
  if (text.size() > kMostConfigBytes) {
    return TextProblem{{0, 1}, TooLarge(text.size())};
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
