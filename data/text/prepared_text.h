// Prepares text: of a corpus, of what a user types or pipes, and of pairs to
// score. Every source and every program prepares text here, so a model reads a
// sentence as it read the same sentence in training.
#ifndef DATA_TEXT_PREPARED_TEXT_H_
#define DATA_TEXT_PREPARED_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/vocabulary.h"
#include "files/line_reader.h"

namespace regard {

// Versions of the rules, as data.text_version has them:
//
//      a line ends with     words are separated by  a blank line is
//   0  \n or \r\n           U+0020                  empty
//   1  \n, \r\n or \r       white space (utf8.h)    of white space
//
// In all of them, a byte order mark in front of a text is not part of it.
inline LineEnds LineEndsOf(int text_version) {
  return text_version == 0 ? LineEnds::kNewline : LineEnds::kAny;
}
bool IsBlankLine(absl::string_view line, int text_version);

// What is done to words besides separating them.
enum class WordRule {
  // PrepareText(): of sentence pairs.
  kPrepared,
  // The same, for models of generated sentences, whose words are known: of what
  // is typed, invisible characters (files/printable_text.h) are left out and
  // U+2019 becomes an apostrophe. A word that the vocabulary lacks is parted
  // behind an apostrophe where the vocabulary has the first part, as French
  // elides: `j'aime` becomes `j' aime`.
  kGenerated,
  // Nothing: of the captions of images.
  kAsWritten,
};

struct TextRules {
  int version = 1;
  WordRule words = WordRule::kPrepared;
};

// The words of a sentence. Bytes that are not UTF-8 become U+FFFD; an error in
// a file. kGenerated parts words by the vocabulary, if there is one.
std::vector<std::string> PrepareWords(absl::string_view text,
                                      const TextRules& rules,
                                      const Vocabulary* vocabulary = nullptr);

// No-break spaces (U+00A0, U+202F) become spaces, letters lower-case, and a
// space goes before each of , . ! ? that follows something else. The result is
// in Unicode's composed form (NFC), so a letter and its accent give the same
// token however they were typed.
std::string PrepareText(absl::string_view text);

// What was normalised, or passed over, in a text.
struct TextCounts {
  int64_t carriage_returns = 0;  // in line ends
  int64_t blank_lines = 0;       // passed over
  int64_t separators = 0;        // white space but U+0020, between words

  // Counts the separators of a sentence that becomes words.
  void AddSeparators(absl::string_view text, int text_version);
  // "data.path: 3 blank lines are passed over; ..."; empty without counts.
  std::string Note(absl::string_view where) const;
};

}  // namespace regard

#endif  // DATA_TEXT_PREPARED_TEXT_H_
