// Byte-level text: the characters that represent bytes in a vocabulary, and the
// words into which a text is split before pairs are merged.
//
// Source: Radford et al., "Language Models are Unsupervised Multitask
// Learners", 2019.
#ifndef DATA_TEXT_BYTE_LEVEL_H_
#define DATA_TEXT_BYTE_LEVEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// Returns the bytes as characters. Printable bytes of Latin-1 represent
// themselves. The other 68 bytes become U+0100 and the following characters, in
// order. For example, a space becomes U+0120.
std::string SpellBytes(absl::string_view bytes);

// The inverse of SpellBytes(). Returns `nullopt` if a character represents no
// byte.
std::optional<std::string> UnspellBytes(absl::string_view spelled);

// Returns the number of bytes of the first word of `text`, which is not empty.
// The words match the pattern
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|
//   \s+(?!\S)|\s+
//
// with the letters and numbers of Unicode 16, as in the `tokenizers` library. A
// byte that is not UTF-8 matches none of \s, \p{L} and \p{N}. Takes time
// proportional to the length of the word.
size_t FirstWordBytes(absl::string_view text);

}  // namespace regard

#endif  // DATA_TEXT_BYTE_LEVEL_H_
