#include "data/text/added_tokens.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "data/text/code_points.h"
#include "files/json_file.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns the beginning of the white space that ends at `end`.
size_t SpaceBegin(absl::string_view text, size_t begin, size_t end) {
  while (end > begin) {
    size_t last = end - 1;
    while (last > begin && (text[last] & 0xC0) == 0x80) --last;
    const Character c = FirstCharacter(text.substr(last, end - last));
    if (c.bytes.size() != end - last || !IsUnicodeSpace(c.code_point)) break;
    end = last;
  }
  return end;
}

size_t SpaceEnd(absl::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Character c = FirstCharacter(text.substr(begin));
    if (!IsUnicodeSpace(c.code_point)) break;
    begin += c.bytes.size();
  }
  return begin;
}

}  // namespace

AddedToken ReadAddedToken(const JsonObject& json) {
  AddedToken token;
  token.text = json.Text("content");
  if (json.Has("content") && token.text.empty()) {
    json.AddProblem("content", "content must not be empty");
  }
  token.left_strip = json.Bool("lstrip", false);
  token.right_strip = json.Bool("rstrip", false);
  token.special = json.Bool("special", true);
  token.normalized = json.Bool("normalized", !token.special);
  if (json.Bool("single_word", false)) {
    json.AddProblem("single_word",
                    "single_word must be false: Regard also finds added tokens "
                    "inside words");
  }
  return token;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)) {
  const auto key = [](const AddedToken& token) {
    REGARD_CHECK(!token.text.empty()) << "an added token must not be empty";
    return std::pair(static_cast<unsigned char>(token.text.front()),
                     std::numeric_limits<size_t>::max() - token.text.size());
  };
  std::ranges::stable_sort(tokens_, {}, key);
  for (size_t byte = 0; byte < first_.size(); ++byte) {
    first_[byte] = std::ranges::lower_bound(
                       tokens_, byte, {},
                       [](const AddedToken& token) -> size_t {
                         return static_cast<unsigned char>(token.text.front());
                       }) -
                   tokens_.begin();
  }
}

const AddedToken* AddedTokens::LeadingAddedToken(bool normalized,
                                                 absl::string_view text) const {
  const auto byte = static_cast<unsigned char>(text.front());
  for (size_t i = first_[byte]; i < first_[byte + 1]; ++i) {
    const AddedToken& token = tokens_[i];
    if (token.normalized == normalized && absl::StartsWith(text, token.text)) {
      return &token;
    }
  }
  return nullptr;
}

void AddedTokens::Split(
    absl::string_view text, absl::FunctionRef<void(absl::string_view)> on_text,
    absl::FunctionRef<void(const AddedToken&, absl::string_view)> on_token)
    const {
  SplitBy(
      /*normalized=*/false, text,
      [&](absl::string_view rest) {
        SplitBy(/*normalized=*/true, rest, on_text, on_token);
      },
      on_token);
}

void AddedTokens::SplitBy(
    bool normalized, absl::string_view text,
    absl::FunctionRef<void(absl::string_view)> on_text,
    absl::FunctionRef<void(const AddedToken&, absl::string_view)> on_token)
    const {
  size_t begin = 0;  // beginning of the text that is not yet reported
  for (size_t at = 0; at < text.size(); ++at) {
    const AddedToken* const token =
        LeadingAddedToken(normalized, text.substr(at));
    if (token == nullptr) continue;
    const size_t first = token->left_strip ? SpaceBegin(text, begin, at) : at;
    size_t end = at + token->text.size();
    if (token->right_strip) end = SpaceEnd(text, end);
    if (first > begin) on_text(text.substr(begin, first - begin));
    on_token(*token, text.substr(first, end - first));
    begin = end;
    at = end - 1;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

}  // namespace regard
