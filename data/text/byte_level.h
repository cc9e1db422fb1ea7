// How byte-level vocabularies (Radford et al., "Language Models are
// Unsupervised Multitask Learners", 2019) spell bytes, and the words into which
// they cut a text before any pairs are joined.
#ifndef DATA_TEXT_BYTE_LEVEL_H_
#define DATA_TEXT_BYTE_LEVEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// Bytes that print in Latin-1 are written as themselves, the other 68, in
// order, as U+0100 and on: a space is U+0120.
std::string SpellBytes(absl::string_view bytes);

// The inverse; nothing if a character stands for no byte.
std::optional<std::string> UnspellBytes(absl::string_view spelled);

// Bytes of the first word of `text`, which is not empty, by the pattern
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|
//   \s+(?!\S)|\s+
//
// with the letters and numbers of Unicode 16, those of the `tokenizers`
// library. A byte that is not UTF-8 is none of \s, \p{L} and \p{N}. Takes time
// in proportion to the word.
size_t FirstWordBytes(absl::string_view text);

}  // namespace regard

#endif  // DATA_TEXT_BYTE_LEVEL_H_
