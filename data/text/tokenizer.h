// Raw text to tokens and back.
#ifndef DATA_TEXT_TOKENIZER_H_
#define DATA_TEXT_TOKENIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Immutable: one may serve several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // `text` is UTF-8 without line breaks. No token is empty; empty text has no
  // tokens. A token that the vocabulary lacks is kept as it is written.
  virtual std::vector<std::string> Tokenize(absl::string_view text) const = 0;

  // The text that tokens stand for.
  virtual std::string Detokenize(
      absl::Span<const std::string> tokens) const = 0;
};

// What makes tokens of raw text. Null where the text is tokens between spaces.
// Shared, because data and translators are copied and outlive each other.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source = nullptr;
  std::shared_ptr<const Tokenizer> target = nullptr;
};

}  // namespace regard

#endif  // DATA_TEXT_TOKENIZER_H_
