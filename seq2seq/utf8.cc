#include "seq2seq/utf8.h"

#include <utf8proc.h>

namespace regard {
namespace {

// The character that `text` starts with; its `bytes` are empty when `text` does
// not start with UTF-8.
Character FirstCharacter(absl::string_view text) {
  utf8proc_int32_t code_point = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (length <= 0) return {};
  return {.code_point = static_cast<char32_t>(code_point),
          .bytes = text.substr(0, length)};
}

}  // namespace

std::optional<int64_t> FindInvalidUtf8(absl::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    const Character character = FirstCharacter(text.substr(offset));
    if (character.bytes.empty()) return static_cast<int64_t>(offset);
    offset += character.bytes.size();
  }
  return std::nullopt;
}

std::vector<Character> Characters(absl::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    Character character = FirstCharacter(text);
    if (character.bytes.empty()) {
      character = {.code_point = U'\uFFFD', .bytes = text.substr(0, 1)};
    }
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
