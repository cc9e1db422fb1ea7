// The vocabulary of a BERT that is trained here.
#ifndef EXPERIMENTS_TASKS_MASKED_WORDS_TOKEN_VOCABULARY_H_
#define EXPERIMENTS_TASKS_MASKED_WORDS_TOKEN_VOCABULARY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "data/text/wordpiece.h"
#include "language/bert.pb.h"

namespace regard {

// Names the vocabulary in a run folder.
inline constexpr char kVocabularyFile[] = "vocab.txt";

struct TokenVocabulary {
  WordPiece pieces;
  std::string digest;   // SHA-256 of the file; empty if there is none
  std::string problem;  // what is wrong with the file; empty if nothing is
};

// That of the file `path`, which is as the user gave it, cut as `config` says;
// if `path` is empty or at fault, the words of `text`.
TokenVocabulary ReadTokenVocabulary(const MaskedWordsConfig& config,
                                    const std::string& path,
                                    absl::string_view text);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_MASKED_WORDS_TOKEN_VOCABULARY_H_
