#include "language/text_vocabulary.h"

#include <algorithm>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr absl::string_view kUnknownToken = "<unk>";
constexpr absl::string_view kBeginToken = "<bos>";
constexpr absl::string_view kEndToken = "<eos>";
constexpr absl::string_view kNewline = "\n";

// Calls visit(line without its newline, whether it has one).
void ForEachLine(absl::string_view text,
                 absl::FunctionRef<void(absl::string_view, bool)> visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end), end != absl::string_view::npos);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
  }
}

// The tokens of a text without newlines.
std::vector<absl::string_view> TokensOf(absl::string_view line, bool words) {
  if (words) return SplitOnWhitespace(line);
  std::vector<absl::string_view> tokens;
  for (const Character& character : Characters(line)) {
    tokens.push_back(character.bytes);
  }
  return tokens;
}

// A token for an error: 'é' (U+00E9), or '\n' (U+000A).
std::string Shown(absl::string_view token, bool word) {
  const std::string quoted =
      absl::StrCat("'", absl::Utf8SafeCHexEscape(token), "'");
  if (word) return quoted;
  return absl::StrFormat("%s (U+%04X)", quoted,
                         uint32_t{Characters(token).front().code_point});
}

}  // namespace

TextVocabulary::TextVocabulary(const LanguageModelConfig& config)
    : TokenList(/*escaped=*/true),
      words_(config.unit() == LanguageModelConfig::WORDS),
      lines_(config.examples() == LanguageModelConfig::LINES) {
  if (words_) Append(kUnknownToken);
  if (lines_) {
    Append(kBeginToken);
    Append(kEndToken);
  }
  reserved_ = size();
}

TextVocabulary TextVocabulary::Of(absl::string_view text,
                                  const LanguageModelConfig& config) {
  TextVocabulary vocabulary(config);
  TokenCounts counts;
  ForEachLine(text, [&](absl::string_view line, bool ends) {
    for (const absl::string_view token : TokensOf(line, vocabulary.words_)) {
      counts.Add(token, 1);
    }
    if (ends && !vocabulary.lines_) counts.Add(kNewline, 1);
  });
  std::vector<std::string> tokens =
      counts.ByFrequency(vocabulary.words_ ? config.min_frequency() : 1);
  // The order of UTF-8 bytes is that of code points.
  if (!vocabulary.words_) std::sort(tokens.begin(), tokens.end());
  for (const std::string& token : tokens) vocabulary.Append(token);
  return vocabulary;
}

absl::StatusOr<TextVocabulary> TextVocabulary::FromText(
    absl::string_view text, absl::string_view path,
    const LanguageModelConfig& config) {
  TextVocabulary vocabulary(config);
  REGARD_RETURN_IF_ERROR(vocabulary.AppendText(text, path));
  return vocabulary;
}

SpecialIds TextVocabulary::special_ids() const {
  const int32_t begin = reserved_ - 2;
  return lines_ ? SpecialIds{.begin = begin, .end = begin + 1, .pad = -1}
                : SpecialIds{.begin = -1, .end = -1, .pad = -1};
}

int32_t TextVocabulary::Find(absl::string_view token) const {
  const int32_t id = TokenList::Find(token);
  const SpecialIds special = special_ids();
  return id == special.begin || id == special.end ? -1 : id;
}

EncodedText TextVocabulary::Encode(absl::string_view text) const {
  EncodedText encoded;
  const auto add = [&](absl::string_view token) {
    const int32_t id = Find(token);
    REGARD_CHECK(id >= 0 || words_) << "unknown " << Shown(token, words_);
    encoded.ids.push_back(id >= 0 ? id : 0);
  };
  if (lines_) encoded.lines.push_back(0);
  ForEachLine(text, [&](absl::string_view line, bool ends) {
    const std::vector<absl::string_view> tokens = TokensOf(line, words_);
    if (!lines_) {
      for (const absl::string_view token : tokens) add(token);
      if (ends) add(kNewline);
      return;
    }
    if (tokens.empty()) return;
    encoded.ids.push_back(special_ids().begin);
    for (const absl::string_view token : tokens) add(token);
    encoded.ids.push_back(special_ids().end);
    encoded.lines.push_back(static_cast<int64_t>(encoded.ids.size()));
  });
  return encoded;
}

absl::StatusOr<std::vector<int32_t>> TextVocabulary::EncodePrompt(
    absl::string_view prompt) const {
  if (const std::optional<int64_t> bad = FindInvalidUtf8(prompt)) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", *bad + 1, ": the prompt is not UTF-8 there"));
  }
  std::vector<int32_t> ids;
  if (lines_) ids.push_back(special_ids().begin);
  int64_t position = 0;
  std::string problem;
  const auto add = [&](absl::string_view token) {
    ++position;
    const int32_t id = Find(token);
    if (id < 0 && problem.empty()) {
      problem =
          absl::StrCat(words_ ? "word " : "character ", position,
                       ": the model does not know ", Shown(token, words_));
    }
    ids.push_back(id);
  };
  ForEachLine(prompt, [&](absl::string_view line, bool ends) {
    for (const absl::string_view token : TokensOf(line, words_)) add(token);
    if (ends) add(kNewline);
  });
  if (!problem.empty()) return absl::InvalidArgumentError(problem);
  if (!ids.empty()) return ids;
  const int32_t newline = Find(kNewline);
  if (newline < 0) {
    return absl::InvalidArgumentError(
        "the prompt is empty, and the model knows no newline to begin after");
  }
  return std::vector<int32_t>{newline};
}

absl::Status TextVocabulary::CheckKnown(absl::string_view text) const {
  if (words_) return absl::OkStatus();
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    const absl::Status known = EncodePrompt(line).status();
    if (known.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "error: data: in the line '", line, "', ", known.message()));
  }
  return absl::OkStatus();
}

std::string TextVocabulary::OneLine(absl::Span<const int32_t> ids) const {
  std::string text;
  int32_t before = -1;
  for (const int32_t id : ids) {
    absl::StrAppend(&text, Piece(before, id));
    before = id;
  }
  return absl::StrReplaceAll(text, {{"\n", "\u21b5"}});
}

std::string TextVocabulary::Piece(int32_t before, int32_t id) const {
  const SpecialIds special = special_ids();
  if (id == special.begin || id == special.end) return "";
  const std::string& token = Token(id);
  const bool first =
      before < 0 || before == special.begin || Token(before) == kNewline;
  return words_ && !first && token != kNewline ? absl::StrCat(" ", token)
                                               : token;
}

}  // namespace regard
