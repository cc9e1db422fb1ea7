#include "data/text/prepared_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "files/printable_text.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

bool IsDetachedMark(char32_t c) {
  return c == U',' || c == U'.' || c == U'!' || c == U'?';
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c & 0x80) == 0; });
}

std::string Composed(const std::string& text) {
  // Most text is ASCII, which is always in composed form.
  if (IsAscii(text)) return text;
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &composed,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  REGARD_CHECK_GE(length, 0) << utf8proc_errmsg(length);
  std::string result(reinterpret_cast<const char*>(composed), length);
  std::free(composed);
  return result;
}

std::vector<std::string> Split(absl::string_view text, int version) {
  if (version == 0) return absl::StrSplit(text, ' ', absl::SkipEmpty());
  const std::vector<absl::string_view> words = SplitOnWhitespace(text);
  return {words.begin(), words.end()};
}

// Returns the text without invisible characters, with spaces for all white
// space, and with apostrophes for U+2019.
std::string WithoutInvisible(absl::string_view text) {
  std::string spaced;
  for (const Character& character : Characters(text)) {
    AppendUtf8(IsWhitespace(character.code_point) ? U' ' : character.code_point,
               &spaced);
  }
  return absl::StrReplaceAll(PrintableText(spaced), {{"\u2019", "'"}});
}

void SplitElided(std::string word, const Vocabulary& vocabulary,
                 std::vector<std::string>* words) {
  while (!vocabulary.HasTextToken(word)) {
    const size_t apostrophe = word.find('\'');
    if (apostrophe == std::string::npos || apostrophe + 1 == word.size()) break;
    std::string first = word.substr(0, apostrophe + 1);
    if (!vocabulary.HasTextToken(first)) break;
    words->push_back(std::move(first));
    word.erase(0, apostrophe + 1);
  }
  words->push_back(std::move(word));
}

}  // namespace

bool IsBlankLine(absl::string_view line, int text_version) {
  return text_version == 0 ? line.empty() : SplitOnWhitespace(line).empty();
}

std::string PrepareText(absl::string_view text) {
  std::string prepared;
  prepared.reserve(text.size() + 8);
  bool after_space = true;  // a mark at the start of a text gets no space
  for (const Character& character : Characters(text)) {
    char32_t c = character.code_point;
    if (c == U'\u00A0' || c == U'\u202F') c = U' ';
    if (IsDetachedMark(c) && !after_space) prepared.push_back(' ');
    AppendUtf8(static_cast<char32_t>(
                   utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
               &prepared);
    after_space = c == U' ';
  }
  return Composed(prepared);
}

std::vector<std::string> PrepareWords(absl::string_view text,
                                      const TextRules& rules,
                                      const Vocabulary* vocabulary) {
  switch (rules.words) {
    case WordPreparation::kPrepared:
      return Split(PrepareText(text), rules.version);
    case WordPreparation::kAsWritten:
      return Split(text, /*version=*/1);
    case WordPreparation::kGenerated:
      break;
  }
  std::vector<std::string> words;
  for (std::string& word :
       Split(PrepareText(WithoutInvisible(text)), rules.version)) {
    if (vocabulary == nullptr) {
      words.push_back(std::move(word));
    } else {
      SplitElided(std::move(word), *vocabulary, &words);
    }
  }
  return words;
}

void TextCleanupCounts::CountUnusualSpaces(absl::string_view text,
                                           int text_version) {
  const bool is_plain = std::all_of(
      text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
  if (text_version == 0 || is_plain) return;
  for (const Character& character : Characters(text)) {
    const char32_t c = character.code_point;
    if (c != U' ' && IsWhitespace(c)) ++separators;
  }
}

std::string TextCleanupCounts::Note(absl::string_view where) const {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, absl::string_view one,
                       absl::string_view many) {
    if (count > 0) {
      parts.push_back(absl::StrCat(count, count == 1 ? one : many));
    }
  };
  add(carriage_returns,
      " line ends in a carriage return, which is not part of the text",
      " lines end in a carriage return, which is not part of the text");
  add(blank_lines, " blank line is ignored", " blank lines are ignored");
  add(separators, " white-space character other than U+0020 separates words",
      " white-space characters other than U+0020 separate words");
  if (parts.empty()) return "";
  return absl::StrCat(where, ": ", absl::StrJoin(parts, "; "));
}

}  // namespace regard
