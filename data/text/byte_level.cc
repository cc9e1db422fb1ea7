#include "data/text/byte_level.h"

#include <utf8proc.h>

#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "data/text/code_points.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The letters and numbers that Unicode 15.1 and 16 added. utf8proc of Debian 12
// supports only Unicode 15. tools/parity/check_byte_pairs.py compares all code
// points.
constexpr CodePointRange kNewLetters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},
    {0x105C0, 0x105F3}, {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85},
    {0x10EC2, 0x10EC4}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
    {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0},
    {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C},
    {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0},
    {0x2EBF0, 0x2EE5D},
};
constexpr CodePointRange kNewNumbers[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9},
    {0x16130, 0x16139}, {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9},
    {0x1E5F1, 0x1E5FA},
};

enum class Kind { kSpace, kLetter, kNumber, kOther };

Kind KindOf(char32_t c) {
  if (c < 0x80) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isalpha(byte)   ? Kind::kLetter
           : absl::ascii_isdigit(byte) ? Kind::kNumber
           : absl::ascii_isspace(byte) ? Kind::kSpace
                                       : Kind::kOther;
  }
  if (IsUnicodeSpace(c)) return Kind::kSpace;
  const utf8proc_category_t category =
      utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
    return Kind::kLetter;
  }
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
    return Kind::kNumber;
  }
  if (InRanges(kNewLetters, c)) return Kind::kLetter;
  return InRanges(kNewNumbers, c) ? Kind::kNumber : Kind::kOther;
}

// The kind of the first character of a text, and its number of bytes.
struct Start {
  Kind kind;
  size_t bytes;
};

Start StartOf(absl::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x80) return {KindOf(byte), 1};
  const Character character = FirstCharacter(text);
  return {KindOf(character.code_point), character.bytes.size()};
}

size_t ContractionBytes(absl::string_view text) {
  for (const absl::string_view contraction :
       {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (absl::StartsWith(text, contraction)) return contraction.size();
  }
  return 0;
}

// The code points that represent bytes, and the inverse.
struct Alphabet {
  std::array<char32_t, 256> letters = {};
  std::array<int16_t, 512> bytes = {};  // -1: none
};

Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool prints =
        (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const char32_t letter = prints ? static_cast<char32_t>(byte) : next++;
    alphabet.letters[byte] = letter;
    alphabet.bytes[letter] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

const Alphabet& TheAlphabet() {
  static const auto* const alphabet = new Alphabet(MakeAlphabet());
  return *alphabet;
}

}  // namespace

std::string SpellBytes(absl::string_view bytes) {
  std::string spelled;
  for (const char byte : bytes) {
    AppendUtf8(TheAlphabet().letters[static_cast<unsigned char>(byte)],
               &spelled);
  }
  return spelled;
}

std::optional<std::string> UnspellBytes(absl::string_view spelled) {
  std::string bytes;
  for (const Character& character : Characters(spelled)) {
    const char32_t c = character.code_point;
    const auto& known = TheAlphabet().bytes;
    if (c >= known.size() || known[c] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(known[c]));
  }
  return bytes;
}

size_t FirstWordBytes(absl::string_view text) {
  REGARD_CHECK(!text.empty()) << "the text must not be empty";
  if (text.front() == '\'') {
    if (const size_t bytes = ContractionBytes(text)) return bytes;
  }
  size_t end = text.front() == ' ' && text.size() > 1 ? 1 : 0;
  const Start first = StartOf(text.substr(end));
  if (first.kind != Kind::kSpace) {
    end += first.bytes;
    while (end < text.size()) {
      const Start next = StartOf(text.substr(end));
      if (next.kind != first.kind) break;
      end += next.bytes;
    }
    return end;
  }
  // The last character of the white space may belong to the next word.
  size_t last = 0;
  for (end = 0; end < text.size();) {
    const Start next = StartOf(text.substr(end));
    if (next.kind != Kind::kSpace) break;
    last = end;
    end += next.bytes;
  }
  return end == text.size() || last == 0 ? end : last;
}

}  // namespace regard
