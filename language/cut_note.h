// Notes for users about texts that are truncated because they are too long for
// a BERT.
#ifndef LANGUAGE_CUT_NOTE_H_
#define LANGUAGE_CUT_NOTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"

namespace regard {

// Returns a note if the text, or the pair of texts, has more than `longest`
// ids. Empty otherwise. `texts` has one or two elements.
std::vector<std::string> TruncationNotes(
    const WordPiece& pieces, const std::vector<absl::string_view>& texts,
    int64_t longest);

}  // namespace regard

#endif  // LANGUAGE_CUT_NOTE_H_
