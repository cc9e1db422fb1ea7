// Raw text as tokens of words: those of a corpus and of a typed sentence.
#ifndef DATA_TEXT_PREPARED_TEXT_H_
#define DATA_TEXT_PREPARED_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace regard {

// No-break spaces (U+00A0, U+202F) become spaces, letters lower-case, and a
// space goes before each of , . ! ? that follows something else. The result is
// in Unicode's composed form (NFC), so a letter and its accent give the same
// token however they were typed. `text` must be UTF-8.
std::string PrepareText(absl::string_view text);

// The words of prepared text: what stands between spaces.
std::vector<std::string> SplitTokens(absl::string_view text);

}  // namespace regard

#endif  // DATA_TEXT_PREPARED_TEXT_H_
