// Added tokens, which are found literally before a tokenizer splits a text.
#ifndef DATA_TEXT_ADDED_TOKENS_H_
#define DATA_TEXT_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

class JsonObject;

struct AddedToken {
  std::string text;
  int32_t id = 0;
  // Whether white space before the token belongs to the token.
  bool left_strip = false;
  // Whether white space after the token belongs to the token.
  bool right_strip = false;
  // Whether the token is searched for only after all tokens that are not
  // `normalized`.
  bool normalized = false;
  bool special = true;  // has no effect in Regard
};

// Reads an object of the `tokenizers` library ("content", "lstrip", ..),
// without its id. Reports unsupported values as problems of the file.
AddedToken ReadAddedToken(const JsonObject& json);

// Finds added tokens in texts. Copyable.
class AddedTokens {
 public:
  AddedTokens() : AddedTokens(std::vector<AddedToken>()) {}
  // The texts of the tokens must be different and not empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Splits a text at its tokens. In the order of the text, calls `on_token` for
  // each token with its bytes, and `on_text` for the text between tokens. Finds
  // the leftmost token first. If several tokens begin at the same byte, finds
  // the longest.
  void Split(absl::string_view text,
             absl::FunctionRef<void(absl::string_view)> on_text,
             absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                 on_token) const;

  absl::Span<const AddedToken> tokens() const { return tokens_; }

 private:
  // Splits `text` at the tokens whose `normalized` has this value.
  void SplitBy(bool normalized, absl::string_view text,
               absl::FunctionRef<void(absl::string_view)> on_text,
               absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                   on_token) const;
  // Returns the longest token that `text` begins with, among the tokens whose
  // `normalized` has this value, or null. `text` must not be empty.
  const AddedToken* LeadingAddedToken(bool normalized,
                                      absl::string_view text) const;

  std::vector<AddedToken> tokens_;  // sorted by first byte, longest first
  std::array<size_t, 257> first_;   // index in tokens_, by first byte
};

}  // namespace regard

#endif  // DATA_TEXT_ADDED_TOKENS_H_
