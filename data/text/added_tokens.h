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
  // Whether white space before it, or after it, belongs to it.
  bool left_strip = false;
  bool right_strip = false;
  // Whether it is searched only after the other tokens have been found.
  bool normalized = false;
  bool special = true;  // has no effect in Regard
};

// Reads an object of the `tokenizers` library ("content", "lstrip", ..),
// without its id. Unsupported values become problems of the file.
AddedToken ReadAddedToken(const JsonObject& json);

// Finds added tokens in texts. Copyable.
class AddedTokens {
 public:
  AddedTokens() : AddedTokens(std::vector<AddedToken>()) {}
  // The texts of the tokens must be different and not empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Calls `on_token` for the tokens of a text with the bytes that belong to
  // them, and `on_text` for the text between them, in order. Finds the leftmost
  // token first, and the longest of several at one place.
  void Split(absl::string_view text,
             absl::FunctionRef<void(absl::string_view)> on_text,
             absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                 on_token) const;

  absl::Span<const AddedToken> tokens() const { return tokens_; }

 private:
  // Splits by the tokens that are `normalized`, or by those that are not.
  void SplitBy(bool normalized, absl::string_view text,
               absl::FunctionRef<void(absl::string_view)> on_text,
               absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                   on_token) const;
  // Returns null if `text`, which is not empty, begins with no token.
  const AddedToken* FirstToken(bool normalized, absl::string_view text) const;

  std::vector<AddedToken> tokens_;  // ordered by first byte and length
  std::array<size_t, 257> first_;   // index by first byte
};

}  // namespace regard

#endif  // DATA_TEXT_ADDED_TOKENS_H_
