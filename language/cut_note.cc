#include "language/cut_note.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace regard {

std::vector<std::string> TruncationNotes(
    const WordPiece& pieces, const std::vector<absl::string_view>& texts,
    int64_t longest) {
  int64_t all = std::ssize(texts) + 1;  // [CLS], and a [SEP] after each text
  for (const absl::string_view text : texts) {
    all += std::ssize(pieces.Tokenize(text));
  }
  if (all <= longest) return {};
  return {
      absl::StrCat("is cut: only ", longest, " of ", all, " tokens are read")};
}

}  // namespace regard
