#include "language/text_vocabulary.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "files/file.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr absl::string_view kUnknownToken = "<unk>";
constexpr absl::string_view kBeginToken = "<bos>";
constexpr absl::string_view kEndToken = "<eos>";
constexpr absl::string_view kNewline = "\n";

// Calls visit(line, ended) for each line. `line` excludes the newline, and
// `ended` is true if the line has a newline.
void ForEachLine(absl::string_view text,
                 absl::FunctionRef<void(absl::string_view, bool)> visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end), end != absl::string_view::npos);
    text.remove_prefix(end == absl::string_view::npos ? text.size() : end + 1);
  }
}

// Returns the tokens of a text without newlines.
std::vector<absl::string_view> SplitLine(absl::string_view line, bool words) {
  if (words) return SplitOnWhitespace(line);
  std::vector<absl::string_view> tokens;
  for (const Character& character : Characters(line)) {
    tokens.push_back(character.bytes);
  }
  return tokens;
}

// Returns a token as error messages show it, such as 'é' (U+00E9) or '\n'
// (U+000A).
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
      unit_(config.unit()),
      lines_(config.examples() == LanguageModelConfig::LINES) {
  if (unit_ == LanguageModelConfig::BYTE_PAIRS) return;
  if (words()) Append(kUnknownToken);
  if (!lines_) return;
  begin_ = TokenList::size();
  Append(kBeginToken);
  end_ = TokenList::size();
  Append(kEndToken);
}

TextVocabulary TextVocabulary::Of(absl::string_view text,
                                  const LanguageModelConfig& config) {
  REGARD_CHECK(config.unit() != LanguageModelConfig::BYTE_PAIRS)
      << "byte pairs are not made of a text";
  TextVocabulary vocabulary(config);
  TokenCounts counts;
  ForEachLine(text, [&](absl::string_view line, bool ends) {
    for (const absl::string_view token : SplitLine(line, vocabulary.words())) {
      counts.Add(token, 1);
    }
    if (ends && !vocabulary.lines_) counts.Add(kNewline, 1);
  });
  std::vector<std::string> tokens =
      counts.ByFrequency(vocabulary.words() ? config.min_frequency() : 1);
  // The order of UTF-8 bytes is the order of code points.
  if (!vocabulary.words()) std::sort(tokens.begin(), tokens.end());
  for (const std::string& token : tokens) vocabulary.Append(token);
  return vocabulary;
}

absl::StatusOr<TextVocabulary> TextVocabulary::Parse(
    absl::string_view text, absl::string_view path,
    const LanguageModelConfig& config) {
  TextVocabulary vocabulary(config);
  if (config.unit() != LanguageModelConfig::BYTE_PAIRS) {
    REGARD_RETURN_IF_ERROR(vocabulary.ParseText(text, path));
    return vocabulary;
  }
  REGARD_ASSIGN_OR_RETURN(vocabulary.pairs_, BytePairs::Parse(text, path));
  const BytePairsConfig& tokens = config.tokens();
  for (const auto& [token, id] :
       {std::pair(&tokens.begin(), &vocabulary.begin_),
        std::pair(&tokens.end(), &vocabulary.end_)}) {
    if (!token->empty()) *id = vocabulary.pairs_->Find(*token).value_or(-1);
    if (*id >= 0 || !vocabulary.lines_) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": error: '", absl::Utf8SafeCHexEscape(*token),
                     "' must be a token, because model.language_model.tokens "
                     "names it as the begin or end of lines"));
  }
  return vocabulary;
}

std::string TextVocabulary::ToText() const {
  return pairs_ ? pairs_->ToText() : TokenList::ToText();
}

std::string TextVocabulary::Token(int32_t id) const {
  if (!pairs_) return TokenList::Token(id);
  std::string bytes;
  pairs_->AppendBytes(id, &bytes);
  std::string text;
  Utf8Stream stream;
  stream.Append(bytes, &text);
  stream.Finish(&text);
  return text;
}

absl::string_view TextVocabulary::unit_name() const {
  return pairs_ ? "subwords" : words() ? "words" : "characters";
}

SpecialIds TextVocabulary::special_ids() const {
  // If <bos> and <eos> are the same token, `begin` is -1, because `begin` is
  // never generated.
  return {
      .begin = pairs_ && begin_ == end_ ? -1 : begin_, .end = end_, .pad = -1};
}

int32_t TextVocabulary::Find(absl::string_view token) const {
  const int32_t id = TokenList::Find(token);
  return id == begin_ || id == end_ ? -1 : id;
}

void TextVocabulary::ForEachToken(
    absl::string_view text,
    absl::FunctionRef<void(absl::string_view, int32_t)> visit) const {
  if (pairs_) {
    for (const int32_t id : pairs_->Encode(text)) visit("", id);
    return;
  }
  ForEachLine(text, [&](absl::string_view line, bool ends) {
    for (const absl::string_view token : SplitLine(line, words())) {
      visit(token, Find(token));
    }
    if (ends) visit(kNewline, Find(kNewline));
  });
}

EncodedText TextVocabulary::Encode(absl::string_view text) const {
  EncodedText encoded;
  const auto add = [&](absl::string_view token, int32_t id) {
    REGARD_CHECK(id >= 0 || words()) << "unknown " << Shown(token, words());
    encoded.ids.push_back(id >= 0 ? id : 0);
  };
  if (!lines_) {
    ForEachToken(text, add);
    return encoded;
  }
  encoded.lines.push_back(0);
  ForEachLine(text, [&](absl::string_view line, bool) {
    const size_t first = encoded.ids.size();
    encoded.ids.push_back(begin_);
    ForEachToken(line, add);
    if (encoded.ids.size() == first + 1) {  // the line is empty
      encoded.ids.pop_back();
      return;
    }
    encoded.ids.push_back(end_);
    encoded.lines.push_back(static_cast<int64_t>(encoded.ids.size()));
  });
  return encoded;
}

absl::StatusOr<std::vector<int32_t>> TextVocabulary::EncodePrompt(
    absl::string_view prompt) const {
  if (const std::optional<int64_t> bad = FindInvalidUtf8(prompt)) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", *bad + 1, ": the prompt is not valid UTF-8"));
  }
  std::vector<int32_t> ids;
  if (lines_ || prompt.empty()) ids.push_back(begin_);
  int64_t position = 0;
  std::string problem;
  ForEachToken(prompt, [&](absl::string_view token, int32_t id) {
    ++position;
    if (id < 0 && problem.empty()) {
      problem =
          absl::StrCat(words() ? "word " : "character ", position,
                       ": the model does not know ", Shown(token, words()));
    }
    ids.push_back(id);
  });
  if (!problem.empty()) return absl::InvalidArgumentError(problem);
  if (!ids.empty() && ids[0] >= 0) return ids;
  const int32_t newline = pairs_ ? -1 : Find(kNewline);
  if (newline >= 0) return std::vector<int32_t>{newline};
  return absl::InvalidArgumentError(
      absl::StrCat("the prompt must not be empty: the model has no ",
                   pairs_ ? "token" : "newline", " to begin after"));
}

absl::Status TextVocabulary::CheckKnownCharacters(
    absl::string_view text, absl::string_view path) const {
  if (pairs_ || words()) return absl::OkStatus();
  for (size_t offset = 0; offset < text.size();) {
    const absl::string_view character =
        FirstCharacter(text.substr(offset)).bytes;
    // Encode() drops newlines if lines are examples.
    const bool is_read = !lines_ || character != kNewline;
    if (is_read && Find(character) < 0) {
      return absl::InvalidArgumentError(
          ErrorInText(path, text, offset,
                      absl::StrCat("the model does not know ",
                                   Shown(character, /*word=*/false))));
    }
    offset += character.size();
  }
  return absl::OkStatus();
}

int64_t TextVocabulary::CountCharacters(absl::Span<const int32_t> ids) const {
  if (!pairs_) return static_cast<int64_t>(ids.size());
  int64_t characters = 0;
  std::string bytes;
  for (const int32_t id : ids) {
    if (lines_ && id == end_) {
      ++characters;
      continue;
    }
    bytes.clear();
    pairs_->AppendBytes(id, &bytes);
    // Counts the bytes that begin a character.
    characters += std::ranges::count_if(
        bytes, [](char byte) { return (byte & 0xC0) != 0x80; });
  }
  return characters;
}

std::string TextVocabulary::OneLine(absl::Span<const int32_t> ids) const {
  std::string text;
  IncrementalTextDecoder stream(*this);
  for (const int32_t id : ids) absl::StrAppend(&text, stream.Append(id));
  absl::StrAppend(&text, stream.Finish());
  return absl::StrReplaceAll(text, {{"\n", "\u21b5"}});
}

std::string TextVocabulary::Piece(int32_t before, int32_t id) const {
  std::string bytes;
  if (id == begin_ || id == end_) return bytes;
  if (pairs_) {
    pairs_->AppendBytes(id, &bytes);
    return bytes;
  }
  const std::string& token = TokenList::Token(id);
  const bool first =
      before < 0 || before == begin_ || TokenList::Token(before) == kNewline;
  return words() && !first && token != kNewline ? absl::StrCat(" ", token)
                                                : token;
}

std::string IncrementalTextDecoder::Append(int32_t id) {
  std::string text;
  if (stopped_) return text;
  const std::string piece = vocabulary_.Piece(before_, id);
  before_ = id;
  if (stops_.empty()) {
    bytes_.Append(piece, &text);
    return text;
  }
  for (const char byte : piece) {
    held_.push_back(byte);
    size_t length = 0;
    for (const std::string& stop : stops_) {
      if (absl::EndsWith(held_, stop)) length = std::max(length, stop.size());
    }
    if (length == 0) continue;
    stopped_ = true;
    held_.resize(held_.size() - length);
    break;
  }
  const size_t known = held_.size() - (stopped_ ? 0 : PartialStopLength(held_));
  bytes_.Append(absl::string_view(held_).substr(0, known), &text);
  held_.erase(0, known);
  return text;
}

// Returns the length of the longest suffix of `text` that is a prefix of a stop
// string.
size_t IncrementalTextDecoder::PartialStopLength(absl::string_view text) const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(text.size(), stop.size() - 1); n > longest; --n) {
      if (absl::EndsWith(text, absl::string_view(stop).substr(0, n))) {
        longest = n;
      }
    }
  }
  return longest;
}

std::string IncrementalTextDecoder::Finish() {
  std::string text;
  bytes_.Append(held_, &text);
  held_.clear();
  bytes_.Finish(&text);
  return text;
}

}  // namespace regard
