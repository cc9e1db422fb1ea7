// Checks that the vocabulary sizes of a tokenizer and a model match.
#ifndef PRETRAINED_VOCABULARY_SIZE_H_
#define PRETRAINED_VOCABULARY_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace regard {

// Returns an error, with a message for the user, unless the model has one row
// per token. Some models round vocab_size up to a multiple of 64 or 128, so
// unused rows up to such a multiple are allowed. `path` is the file or folder
// of the tokens.
inline absl::Status CheckVocabularySize(const std::string& path, int64_t tokens,
                                        int64_t vocab_size) {
  const bool padded = vocab_size % 64 == 0 && tokens > vocab_size - 128;
  if (tokens == vocab_size || (padded && tokens < vocab_size)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: has ", tokens,
                   " tokens, but vocab_size of config.json is ", vocab_size,
                   "; use the tokenizer of this model"));
}

}  // namespace regard

#endif  // PRETRAINED_VOCABULARY_SIZE_H_
