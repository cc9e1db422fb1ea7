#include "files/utf8.h"

#include <utf8proc.h>

namespace regard {
namespace {

utf8proc_category_t CategoryOf(const Character& c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c.code_point));
}

bool IsCased(const Character& c) {
  const utf8proc_category_t category = CategoryOf(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// Unicode's Case_Ignorable: marks, modifiers, and punctuation inside words.
bool IsCaseIgnorable(const Character& c) {
  switch (CategoryOf(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      break;
  }
  const char32_t p = c.code_point;
  return p == U'\'' || p == U'.' || p == U':' || p == 0xB7 || p == 0x387 ||
         p == 0x55F || p == 0x5F4 || p == 0x2018 || p == 0x2019 ||
         p == 0x2024 || p == 0x2027 || p == 0xFE13 || p == 0xFE52 ||
         p == 0xFE55 || p == 0xFF07 || p == 0xFF0E || p == 0xFF1A;
}

// Whether the sigma at `position` ends a word: a cased letter precedes it, and
// no cased letter follows it. Case-ignorable characters between these letters
// and the sigma do not count.
bool EndsWord(const std::vector<Character>& characters, size_t position) {
  size_t before = position;
  while (before > 0 && IsCaseIgnorable(characters[before - 1])) --before;
  if (before == 0 || !IsCased(characters[before - 1])) return false;
  size_t after = position + 1;
  while (after < characters.size() && IsCaseIgnorable(characters[after])) {
    ++after;
  }
  return after == characters.size() || !IsCased(characters[after]);
}

// Returns the number of bytes of a character with this first byte, or 0.
size_t LengthOfCharacter(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xC2) return 0;
  return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : byte < 0xF5 ? 4 : 0;
}

// Whether text[i] can continue the character that begins at text[0]. Excludes
// overlong forms, surrogates, and code points above U+10FFFF (Unicode, table
// 3-7).
bool GoesOn(absl::string_view text, size_t i) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto byte = static_cast<unsigned char>(text[i]);
  if (byte < 0x80 || byte > 0xBF) return false;
  if (i > 1) return true;
  if (first == 0xE0) return byte >= 0xA0;
  if (first == 0xED) return byte < 0xA0;
  if (first == 0xF0) return byte >= 0x90;
  return first != 0xF4 || byte < 0x90;
}

}  // namespace

void Utf8Stream::Append(absl::string_view bytes, std::string* text) {
  held_.append(bytes.data(), bytes.size());
  absl::string_view rest = held_;
  while (!rest.empty()) {
    const size_t length = LengthOfCharacter(rest[0]);
    size_t size = 1;
    while (size < length && size < rest.size() && GoesOn(rest, size)) ++size;
    if (size == length) {
      text->append(rest.data(), size);
    } else if (length > 0 && size == rest.size()) {
      break;
    } else {
      AppendUtf8(U'\uFFFD', text);
    }
    rest.remove_prefix(size);
  }
  held_.erase(0, held_.size() - rest.size());
}

void Utf8Stream::Finish(std::string* text) {
  if (!held_.empty()) AppendUtf8(U'\uFFFD', text);
  held_.clear();
}

void AppendUtf8(char32_t code_point, std::string* text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  text->append(reinterpret_cast<const char*>(bytes), length);
}

std::string LowerCase(absl::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  const std::vector<Character> characters = Characters(text);
  for (size_t i = 0; i < characters.size(); ++i) {
    const char32_t c = characters[i].code_point;
    if (c == U'\u0130') {
      lower += "i\u0307";
    } else if (c == U'\u03A3' && EndsWord(characters, i)) {
      lower += "\u03C2";
    } else {
      AppendUtf8(static_cast<char32_t>(
                     utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                 &lower);
    }
  }
  return lower;
}

std::optional<int64_t> FindInvalidUtf8(absl::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Character character = FirstCharacter(text.substr(offset));
    // An invalid byte gives U+FFFD with one byte. A valid U+FFFD has three
    // bytes.
    if (character.code_point == U'\uFFFD' && character.bytes.size() == 1) {
      return static_cast<int64_t>(offset);
    }
    offset += character.bytes.size();
  }
  return std::nullopt;
}

Character FirstCharacter(absl::string_view text) {
  utf8proc_int32_t code_point = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (length <= 0) return {U'\uFFFD', text.substr(0, 1)};
  return {static_cast<char32_t>(code_point), text.substr(0, length)};
}

std::vector<Character> Characters(absl::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    text.remove_prefix(character.bytes.size());
    characters.push_back(character);
  }
  return characters;
}

bool IsWhitespace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 ||
         c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::vector<absl::string_view> SplitOnWhitespace(absl::string_view text) {
  std::vector<absl::string_view> pieces;
  size_t begin = 0;
  size_t offset = 0;
  const auto end_piece = [&] {
    if (offset > begin) pieces.push_back(text.substr(begin, offset - begin));
  };
  for (const Character& character : Characters(text)) {
    if (IsWhitespace(character.code_point)) {
      end_piece();
      begin = offset + character.bytes.size();
    }
    offset += character.bytes.size();
  }
  end_piece();
  return pieces;
}

}  // namespace regard
