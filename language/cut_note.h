// What a user should know of a text that a BERT does not read to its end.
#ifndef LANGUAGE_CUT_NOTE_H_
#define LANGUAGE_CUT_NOTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"

namespace regard {

// Of one text, or of two that WordPiece::EncodePair() reads, into at most
// `longest` ids; empty if nothing is cut off.
std::vector<std::string> CutNotes(const WordPiece& pieces,
                                  const std::vector<absl::string_view>& texts,
                                  int64_t longest);

}  // namespace regard

#endif  // LANGUAGE_CUT_NOTE_H_
