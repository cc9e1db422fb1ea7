#include "data/text/vocabulary.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::vector<std::string> TokenCounts::ByFrequency(int64_t min_frequency) const {
  std::vector<const Count*> kept;
  for (const Count& count : counts_) {
    if (count.times >= min_frequency) kept.push_back(&count);
  }
  std::stable_sort(
      kept.begin(), kept.end(),
      [](const Count* a, const Count* b) { return a->times > b->times; });
  std::vector<std::string> tokens;
  for (const Count* count : kept) tokens.push_back(count->token);
  return tokens;
}

const std::string& TokenList::Token(int32_t id) const {
  REGARD_CHECK_GE(id, 0);
  REGARD_CHECK_LT(id, size());
  return tokens_[id];
}

std::string TokenList::ToText() const {
  std::string text;
  for (const std::string& token : tokens_) {
    absl::StrAppend(&text, escaped_ ? absl::Utf8SafeCEscape(token) : token,
                    "\n");
  }
  return text;
}

int32_t TokenList::Find(absl::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

bool TokenList::Append(absl::string_view token) {
  if (!ids_.try_emplace(std::string(token), size()).second) return false;
  tokens_.emplace_back(token);
  return true;
}

absl::Status TokenList::ParseText(absl::string_view text,
                                  absl::string_view path) {
  const int32_t reserved = size();
  int32_t line = 0;
  const auto error = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": error: ", problem));
  };
  while (!text.empty()) {
    ++line;
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) {
      return error(
          "the last line must end with a line feed; the file may have been cut "
          "short");
    }
    const absl::string_view written = text.substr(0, end);
    text.remove_prefix(end + 1);
    std::string token(written);
    if (escaped_ && !absl::CUnescape(written, &token)) {
      return error("the token must use only the escapes of C, such as \\n");
    }
    if (token.empty()) return error("the line is empty; expected a token");
    if (absl::StrContains(token, '\0')) {
      return error("the token must not contain a NUL byte");
    }
    if (FindInvalidUtf8(token).has_value()) {
      return error("the token must be valid UTF-8");
    }
    if (line <= reserved) {
      const std::string& wanted = tokens_[line - 1];
      if (token == wanted) continue;
      return error(absl::StrCat("expected token '", wanted, "', got '", written,
                                "': the reserved tokens come first"));
    }
    if (!Append(token)) {
      return error(absl::StrCat(
          "token '", written, "' must occur only once, but is already on line ",
          Find(token) + 1));
    }
  }
  if (line >= reserved) return absl::OkStatus();
  ++line;
  return error(absl::StrCat(
      "the file must begin with all reserved tokens, but ends before '",
      tokens_[line - 1], "'"));
}

Vocabulary::Vocabulary() : TokenList(/*escaped=*/false) {
  for (absl::string_view token : kReservedTokens) Append(token);
}

Vocabulary::Vocabulary(const TokenCounts& counts, int64_t min_frequency)
    : Vocabulary() {
  for (const std::string& token : counts.ByFrequency(min_frequency)) {
    REGARD_CHECK(!token.empty()) << "a token of a vocabulary";
    REGARD_CHECK(token.find('\n') == std::string::npos)
        << "a token of a vocabulary: " << token;
    Append(token);
  }
}

absl::StatusOr<Vocabulary> Vocabulary::Parse(absl::string_view text,
                                             absl::string_view path) {
  Vocabulary vocabulary;
  REGARD_RETURN_IF_ERROR(vocabulary.ParseText(text, path));
  return vocabulary;
}

int32_t Vocabulary::Id(absl::string_view token) const {
  const int32_t id = Find(token);
  return id < 0 ? kUnknown : id;
}

bool Vocabulary::HasTextToken(absl::string_view token) const {
  return Id(token) >= kReserved;
}

std::vector<int32_t> Vocabulary::Encode(
    absl::Span<const std::string> tokens) const {
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) {
    const int32_t id = Id(token);
    ids.push_back(id < kReserved ? kUnknown : id);
  }
  return ids;
}

std::vector<std::string> Vocabulary::Decode(
    absl::Span<const int32_t> ids) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids) {
    if (id == kEnd) break;
    if (id == kBegin || id == kPad) continue;
    tokens.push_back(Token(id));
  }
  return tokens;
}

}  // namespace regard
