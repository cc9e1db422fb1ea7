#include "experiments/config/config_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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

// The bytes of the first character; negative when it is not valid UTF-8.
utf8proc_ssize_t Decode(absl::string_view text, utf8proc_int32_t* character) {
  return utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), character);
}

bool IsShown(utf8proc_int32_t character) {
  switch (utf8proc_category(character)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string Printable(absl::string_view text, int max_characters) {
  std::string shown;
  while (!text.empty()) {
    if (max_characters-- == 0) return absl::StrCat(shown, "...");
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t size = Decode(text, &character);
    if (text[0] == '\t') {
      shown += ' ';
    } else if (size > 0 && IsShown(character)) {
      shown.append(text.data(), size);
    } else {
      shown += '?';
    }
    text.remove_prefix(std::max<utf8proc_ssize_t>(size, 1));
    // One mark for each character, valid or not, keeps the caret in place.
    while (size <= 0 && !text.empty() && !StartsCharacter(text[0])) {
      text.remove_prefix(1);
    }
  }
  return shown;
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
