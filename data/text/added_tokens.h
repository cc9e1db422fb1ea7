// Tokens that are found in a text as they stand, before a tokeniser cuts it.
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
  // Whether white space before it, and after it, belongs to it.
  bool left_strip = false;
  bool right_strip = false;
  // Looked for in what is left of a text when the others have been found.
  bool normalized = false;
  bool special = true;  // has no effect here
};

// An object of the `tokenizers` library ("content", "lstrip", ..), without its
// id. What is not supported is a problem of the file.
AddedToken ReadAddedToken(const JsonObject& json);

// Copyable.
class AddedTokens {
 public:
  AddedTokens() : AddedTokens(std::vector<AddedToken>()) {}
  // Their texts are not empty, and differ.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Hands on the tokens of a text with the bytes that belong to them, and what
  // stands between, if anything, in order: the leftmost first and of several
  // there the longest.
  void Split(absl::string_view text,
             absl::FunctionRef<void(absl::string_view)> on_text,
             absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                 on_token) const;

  absl::Span<const AddedToken> tokens() const { return tokens_; }

 private:
  // The same of the tokens that are, or are not, normalized.
  void SplitBy(bool normalized, absl::string_view text,
               absl::FunctionRef<void(absl::string_view)> on_text,
               absl::FunctionRef<void(const AddedToken&, absl::string_view)>
                   on_token) const;
  // Null if `text`, which is not empty, begins with none.
  const AddedToken* FirstToken(bool normalized, absl::string_view text) const;

  std::vector<AddedToken> tokens_;  // by first byte, then the longest first
  std::array<size_t, 257> first_;   // of each first byte
};

}  // namespace regard

#endif  // DATA_TEXT_ADDED_TOKENS_H_
