// The vocabulary of a BERT that is trained here.
#ifndef DATA_TEXT_TOKEN_VOCABULARY_H_
#define DATA_TEXT_TOKEN_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"

namespace regard {

class JsonObject;

// Names the vocabulary in a run folder.
inline constexpr char kVocabularyFile[] = "vocab.txt";

// [PAD], <unk>, [CLS], [SEP] and [MASK], as `options` spell them, then the
// words of `text` by falling frequency, ties in the order in which they were
// first seen; those seen less than `min_frequency` times are left out. Where
// the text has <unk> itself, as wikitext does, that is no word.
WordPiece WordVocabulary(absl::string_view text,
                         const WordPieceOptions& options,
                         int64_t min_frequency);

struct TokenVocabulary {
  WordPiece pieces;
  std::string digest = {};   // SHA-256 of the file; empty if there is none
  std::string problem = {};  // what is wrong with the file; empty if nothing is
};

// What a tokenizer.json says of WordPiece's tokens, in the order of their ids;
// none if it says nothing. Complains of ids that are not 0, 1, ...
std::vector<std::string> TokensOfTokenizer(const JsonObject& tokenizer);

// That of the file `path`, which is as the user gave it: a token a line, or a
// tokenizer.json, by the ending of its name. If it is empty or at fault,
// WordVocabulary().
TokenVocabulary ReadTokenVocabulary(const std::string& path,
                                    absl::string_view text,
                                    const WordPieceOptions& options,
                                    int64_t min_frequency);

}  // namespace regard

#endif  // DATA_TEXT_TOKEN_VOCABULARY_H_
