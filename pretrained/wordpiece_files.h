// The WordPiece files of a Hugging Face model folder: vocab.txt, tokenizer.json
// and tokenizer_config.json.
#ifndef PRETRAINED_WORDPIECE_FILES_H_
#define PRETRAINED_WORDPIECE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/text/wordpiece.h"
#include "files/file.h"

namespace regard {

struct WordPieceTokenizer {
  WordPieceOptions options;
  std::unique_ptr<const WordPiece> pieces;
  // The maximum number of tokens, from the tokenizer's "model_max_length" and
  // similar fields. 0 if not set.
  int64_t longest = 0;
  // The path of the file with the tokens.
  std::string vocabulary_file = {};
  // The path of the file that sets whether text is converted to lower case. If
  // no file sets it, the path of the folder.
  std::string lower_case_file = {};
};

// Reads the files. tokenizer_config.json takes precedence over tokenizer.json,
// and vocab.txt over the tokens of tokenizer.json. Error messages are meant for
// users and list all problems of a file.
absl::StatusOr<WordPieceTokenizer> ReadWordPieceFiles(
    const std::string& folder);

// Returns an error, with a message for the user, unless vocab.txt and
// tokenizer_config.json can describe the tokenizer.
absl::Status CheckWordPieceFiles(const WordPieceTokenizer& tokenizer);

// Writes vocab.txt and tokenizer_config.json for a tokenizer that passed
// CheckWordPieceFiles(). transformers can open them.
absl::Status WriteWordPieceFiles(const WordPieceTokenizer& tokenizer,
                                 const std::string& folder,
                                 FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_WORDPIECE_FILES_H_
