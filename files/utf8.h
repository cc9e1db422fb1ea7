// UTF-8 text: where it is broken, and its code points one by one.
#ifndef FILES_UTF8_H_
#define FILES_UTF8_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace regard {

struct Character {
  char32_t code_point = 0;
  absl::string_view bytes;  // a piece of the text it was read from
};

// The byte offset at which `text` stops being UTF-8; nothing when all of it is.
std::optional<int64_t> FindInvalidUtf8(absl::string_view text);

// `text` is not empty; a byte that belongs to no character is U+FFFD.
Character FirstCharacter(absl::string_view text);

// A byte that belongs to no character is one character, U+FFFD.
std::vector<Character> Characters(absl::string_view text);

// Text that arrives byte by byte. What begins a character is held back until
// the character is whole, or until a byte comes that does not go on with it:
// then U+FFFD stands for the longest such piece, as in Unicode's and Python's
// decoders.
class Utf8Stream {
 public:
  // Appends to `text` what is known after these bytes.
  void Append(absl::string_view bytes, std::string* text);
  // U+FFFD for what is held back, if anything is.
  void Finish(std::string* text);

 private:
  std::string held_;
};

// Appends a code point, which is one of Unicode, in UTF-8.
void AppendUtf8(char32_t code_point, std::string* text);

// Whether Unicode calls the code point white space, as Python's str.split()
// understands it: U+001C to U+001F count too.
bool IsWhitespace(char32_t code_point);

// The pieces of `text` between runs of white space; none is empty.
std::vector<absl::string_view> SplitOnWhitespace(absl::string_view text);

// In lower case, as Python's str.lower() has it: U+0130 becomes an i with a dot
// above, and a capital sigma that ends a word the final one.
std::string LowerCase(absl::string_view text);

}  // namespace regard

#endif  // FILES_UTF8_H_
