// Reads UTF-8 text: finds invalid bytes, and splits text into code points.
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
  absl::string_view bytes;  // part of the text that was read
};

// Returns the offset of the first byte that is not valid UTF-8, or `nullopt` if
// all of `text` is valid.
std::optional<int64_t> FindInvalidUtf8(absl::string_view text);

// Returns the first character of `text`, which must not be empty. An invalid
// byte gives U+FFFD.
Character FirstCharacter(absl::string_view text);

// Returns the characters of `text`. Each invalid byte gives one U+FFFD.
std::vector<Character> Characters(absl::string_view text);

// Decodes text that arrives byte by byte. The bytes of an incomplete character
// are held back until the character is complete, or until an invalid byte
// arrives. U+FFFD then replaces the longest incomplete sequence, as in the
// decoders of Unicode and Python.
class Utf8Stream {
 public:
  // Appends to `text` the characters that are complete after these bytes.
  void Append(absl::string_view bytes, std::string* text);
  // Appends U+FFFD if bytes are held back.
  void Finish(std::string* text);

 private:
  std::string held_;
};

// Appends a code point in UTF-8. It must be a valid code point of Unicode.
void AppendUtf8(char32_t code_point, std::string* text);

// Whether the code point is white space in Unicode, or U+001C to U+001F. This
// is the definition of Python's str.split().
bool IsWhitespace(char32_t code_point);

// Returns the parts of `text` between runs of white space. No part is empty.
std::vector<absl::string_view> SplitOnWhitespace(absl::string_view text);

// Returns `text` in lower case, like Python's str.lower(). U+0130 becomes an i
// and a combining dot above. A capital sigma at the end of a word becomes a
// final sigma.
std::string LowerCase(absl::string_view text);

}  // namespace regard

#endif  // FILES_UTF8_H_
