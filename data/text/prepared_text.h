// Prepares text from corpora, from users, and from pairs to score. All sources
// and programs use these functions, so that a trained model reads a sentence in
// the same way as in training.
#ifndef DATA_TEXT_PREPARED_TEXT_H_
#define DATA_TEXT_PREPARED_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/vocabulary.h"
#include "files/line_reader.h"

namespace regard {

// The versions of the rules, as in data.text_version:
//
//   version  a line ends with   words are separated by  a blank line
//   0        \n or \r\n         U+0020                  is empty
//   1        \n, \r\n or \r     white space (utf8.h)    has only white space
//
// In all versions, a byte order mark before a text is not part of it.
inline LineEnds LineEndsOf(int text_version) {
  return text_version == 0 ? LineEnds::kNewline : LineEnds::kAny;
}
bool IsBlankLine(absl::string_view line, int text_version);

// The rules that change the words of a sentence.
enum class WordPreparation {
  // Used for sentence pairs: PrepareText().
  kPrepared,
  // Used by models of generated sentences, whose words are known. Removes
  // invisible characters (files/printable_text.h), replaces U+2019 with an
  // apostrophe, and applies PrepareText(). Elisions are split as in French:
  // `j'aime` becomes `j' aime`. A word is split after an apostrophe if the
  // vocabulary contains the first part but not the word.
  kGenerated,
  // Used for captions of images: no changes.
  kAsWritten,
};

struct TextRules {
  int version = 1;
  WordPreparation words = WordPreparation::kPrepared;
};

// Returns the words of a sentence. Bytes that are not UTF-8 become U+FFFD,
// although they are an error in files. If there is a vocabulary, kGenerated
// also uses it to split words.
std::vector<std::string> PrepareWords(absl::string_view text,
                                      const TextRules& rules,
                                      const Vocabulary* vocabulary = nullptr);

// Converts no-break spaces (U+00A0, U+202F) to spaces, and letters to lower
// case. Inserts a space before each of , . ! ? unless it follows a space. The
// result is in Unicode's composed form (NFC), so that all ways of typing an
// accented letter give the same token.
std::string PrepareText(absl::string_view text);

// Counts of changes in a text, and of ignored lines.
struct TextCleanupCounts {
  int64_t carriage_returns = 0;  // number of carriage returns at line ends
  int64_t blank_lines = 0;       // ignored
  int64_t separators = 0;        // white space other than U+0020, between words

  // Counts the white space other than U+0020 in a sentence that is split into
  // words.
  void CountUnusualSpaces(absl::string_view text, int text_version);
  // Returns a note such as "data.path: 3 blank lines are ignored; ...", or
  // "" if all counts are 0.
  std::string Note(absl::string_view where) const;
};

}  // namespace regard

#endif  // DATA_TEXT_PREPARED_TEXT_H_
