// WordPiece in a folder of Hugging Face's: vocab.txt, tokenizer.json,
// tokenizer_config.json.
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

struct WordPieceFiles {
  WordPieceOptions options;
  std::unique_ptr<const WordPiece> pieces;
  // What the tokeniser's "model_max_length" and the like cut at; 0: not said.
  int64_t longest = 0;
  // The path of the file that has the tokens, and of the one that says whether
  // upper case becomes lower case, or the folder's if none does.
  std::string vocabulary_file = {};
  std::string lower_case_file = {};
};

// tokenizer_config.json counts before tokenizer.json, and vocab.txt before the
// tokens in that. Errors are complete to print, and name all that is wrong with
// a file.
absl::StatusOr<WordPieceFiles> ReadWordPieceFiles(const std::string& folder);

// An error, complete to print, unless vocab.txt and tokenizer_config.json can
// say what the tokeniser does.
absl::Status CheckWordPieceFiles(const WordPieceFiles& tokenizer);

// Writes these of a tokeniser that has passed; transformers opens them.
absl::Status WriteWordPieceFiles(const WordPieceFiles& tokenizer,
                                 const std::string& folder,
                                 FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_WORDPIECE_FILES_H_
