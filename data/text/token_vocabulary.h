// The vocabulary of a BERT model that Regard trains, from a file or a text.
#ifndef DATA_TEXT_TOKEN_VOCABULARY_H_
#define DATA_TEXT_TOKEN_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"

namespace regard {

class JsonObject;

// The file in a run folder that contains the vocabulary.
inline constexpr char kVocabularyFile[] = "vocab.txt";

// Returns a vocabulary of two parts: first [PAD], <unk>, [CLS], [SEP] and
// [MASK], as spelled in `options`, then the words of `text`. The words are in
// descending order of frequency, and ties are in the order of first occurrence.
// Words that occur less than `min_frequency` times are omitted. Occurrences of
// <unk> in the text, as in wikitext, are not counted.
WordPiece WordVocabulary(absl::string_view text,
                         const WordPieceOptions& options,
                         int64_t min_frequency);

struct TokenVocabularyResult {
  WordPiece pieces;
  std::string digest = {};   // SHA-256 of the file; empty if there is none
  std::string problem = {};  // error of the file, or empty
};

// Returns the tokens of WordPiece in a tokenizer.json, in the order of their
// ids. Empty if there are none. Reports ids that are not 0, 1, ... as problems.
std::vector<std::string> TokensOfTokenizer(const JsonObject& tokenizer);

// Reads the vocabulary from the file ResolveUserPath(path). The ending of the
// path determines the format: a tokenizer.json, or one token per line. If
// `path` is empty or the file is invalid, returns WordVocabulary().
TokenVocabularyResult ReadTokenVocabulary(const std::string& path,
                                          absl::string_view text,
                                          const WordPieceOptions& options,
                                          int64_t min_frequency);

}  // namespace regard

#endif  // DATA_TEXT_TOKEN_VOCABULARY_H_
