#include "experiments/config/config_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "files/utf8.h"
#include "utf8proc.h"

namespace regard {
namespace {

constexpr int kShownCharacters = 100;
constexpr int kShownBeforeCaret = 60;

bool StartsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

int CountCharacters(absl::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), StartsCharacter));
}

// The start of the `text` that begins at most `count` characters before
// `offset`.
size_t StepBack(absl::string_view text, size_t offset, int count) {
  while (offset > 0 && count > 0) {
    --offset;
    if (StartsCharacter(text[offset])) --count;
  }
  return offset;
}

bool IsShown(char32_t code_point) {
  const auto category =
      utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  // Not assigned, or line separators, controls, marks of the format and what
  // is in private use.
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZL;
}

}  // namespace

std::string Printable(absl::string_view text, int max_characters) {
  std::string shown;
  while (!text.empty()) {
    if (max_characters-- == 0) return absl::StrCat(shown, "...");
    const Character c = FirstCharacter(text);
    text.remove_prefix(c.bytes.size());
    const bool is_valid = c.code_point != 0xFFFD || c.bytes.size() > 1;
    if (c.code_point == '\t') {
      shown += ' ';
    } else {
      absl::StrAppend(&shown,
                      is_valid && IsShown(c.code_point) ? c.bytes : "?");
    }
    // One mark for each character, valid or not, keeps the caret in place.
    while (!is_valid && !text.empty() && !StartsCharacter(text[0])) {
      text.remove_prefix(1);
    }
  }
  return shown;
}

std::optional<TextProblem> FindEncodingProblem(absl::string_view text) {
  if (text.size() > kMostConfigBytes) {
    return TextProblem{
        {0, 1},
        absl::StrCat("has ", text.size(), " bytes; a config has at most ",
                     kMostConfigBytes)};
  }
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    return TextProblem{{0, 1},
                       "the file begins with a byte order mark (BOM); save it "
                       "as UTF-8 without one"};
  }
  const size_t nul = std::min(text.find('\0'), text.size());
  const size_t invalid = static_cast<size_t>(
      FindInvalidUtf8(text).value_or(static_cast<int64_t>(text.size())));
  if (nul < invalid) {
    return TextProblem{{nul, 1}, "a NUL byte: this is not a text config"};
  }
  if (invalid == text.size()) return std::nullopt;
  return TextProblem{
      {invalid, 1},
      absl::StrFormat("byte 0x%02X is not valid UTF-8",
                      static_cast<unsigned char>(text[invalid]))};
}

ConfigText ConfigText::File(std::string name, std::string text) {
  return ConfigText(std::move(name), std::move(text), /*is_override=*/false);
}

ConfigText ConfigText::Override(std::string argument, std::string place) {
  return ConfigText(std::move(place), std::move(argument),
                    /*is_override=*/true);
}

ConfigText::ConfigText(std::string name, std::string text, bool is_override)
    : name_(std::move(name)),
      text_(std::move(text)),
      is_override_(is_override),
      line_starts_({0}) {
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

int ConfigText::Line(size_t offset) const {
  return static_cast<int>(
      std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) -
      line_starts_.begin());
}

TextRange ConfigText::LineRange(size_t offset) const {
  const size_t begin = line_starts_[Line(offset) - 1];
  size_t end = std::min(text_.find('\n', begin), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return {begin, end - begin};
}

int ConfigText::Column(size_t offset) const {
  const size_t begin = line_starts_[Line(offset) - 1];
  return 1 + CountCharacters(
                 absl::string_view(text_).substr(begin, offset - begin));
}

std::string ConfigText::Origin(size_t offset) const {
  if (is_override_) return name_;
  return absl::StrCat(Printable(name_, kShownCharacters), ":", Line(offset));
}

std::string ConfigText::Where(size_t offset) const {
  if (is_override_) return name_;
  return absl::StrCat(Origin(offset), ":", Column(offset));
}

std::string ConfigText::Diagnostic(const TextProblem& problem) const {
  const size_t offset = std::min(problem.range.begin, text_.size());
  const TextRange range = LineRange(offset);
  const absl::string_view line =
      absl::string_view(text_).substr(range.begin, range.length);
  const size_t caret = std::min(offset - range.begin, line.size());
  const size_t from = CountCharacters(line) <= kShownCharacters
                          ? 0
                          : StepBack(line, caret, kShownBeforeCaret);
  const std::string lead = from > 0 ? "..." : "";
  const int before = static_cast<int>(lead.size()) +
                     CountCharacters(line.substr(from, caret - from));
  const int marked =
      std::clamp(CountCharacters(line.substr(caret, problem.range.length)), 1,
                 kShownCharacters - kShownBeforeCaret);
  return absl::StrCat(Where(offset), ": error: ", problem.message, "\n  ", lead,
                      Printable(line.substr(from), kShownCharacters), "\n  ",
                      std::string(before, ' '), "^",
                      std::string(marked - 1, '~'));
}

}  // namespace regard
