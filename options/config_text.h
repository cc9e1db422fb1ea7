// The text of a config: a file, an embedded text, or one `--set` argument.
// Splits a text into tokens, and formats problems with their positions:
//
//   configs/twenty_pairs.textproto:4:3: error: no field 'widht' in Model; ...
//     widht: 32
//     ^~~~~
#ifndef OPTIONS_CONFIG_TEXT_H_
#define OPTIONS_CONFIG_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace regard {

// The bytes [begin, begin + length) of a text.
struct TextRange {
  size_t begin = 0;
  size_t length = 0;
};

struct TextProblem {
  TextRange range;
  std::string message;
};

// The maximum number of problems that are reported for one text.
inline constexpr size_t kMaxProblems = 20;

// The maximum size of a config. Larger files are rejected before they are read.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// Returns a problem for a byte order mark, a NUL byte, invalid UTF-8, or a size
// above kMaxConfigBytes.
std::optional<TextProblem> FindEncodingProblem(absl::string_view text);

class ConfigTextWithOrigin {
 public:
  // `name` is the path as the user gave it, or the name of an embedded text.
  static ConfigTextWithOrigin File(std::string name, std::string text);
  // `argument` is `path=value`. Messages show `place` as the origin of the
  // argument.
  static ConfigTextWithOrigin Override(std::string argument,
                                       std::string place = "--set");

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  bool is_override() const { return is_override_; }

  // Returns the line of a byte offset, counted from 1.
  int Line(size_t offset) const;
  // Returns the column of a byte offset in characters, counted from 1. A tab is
  // one character.
  int Column(size_t offset) const;

  // Returns the origin of a value: `file.textproto:12` or `--set`.
  std::string OriginWithLine(size_t offset) const;
  // Returns OriginWithLine() with the column: `file.textproto:12:3`.
  std::string OriginWithColumn(size_t offset) const;

  // Returns the position of the bytes `within` of a string value. `name` is the
  // position of the field's name, which precedes the value. The value is a
  // sequence of quoted strings, or the rest of a `--set` argument. Returns
  // `name` if there is no value.
  TextRange RangeInStringValue(const TextRange& name,
                               const TextRange& within) const;

  // Returns the lines to print for a problem: position and message, source
  // line, and caret. Shortens long lines around the caret. Replaces control and
  // invisible characters by '?'. The last line has no newline.
  std::string Diagnostic(const TextProblem& problem) const;

 private:
  ConfigTextWithOrigin(std::string name, std::string text, bool is_override);

  TextRange LineRange(size_t offset) const;

  std::string name_;
  std::string text_;
  bool is_override_;
  std::vector<size_t> line_starts_;
};

// Returns `text`, shortened to `max_characters`. Replaces tabs by spaces, and
// other control, invisible and invalid characters by '?'.
std::string Printable(absl::string_view text, int max_characters = 40);

// The maximum number of characters of a file name that messages show.
inline constexpr int kNameCharacters = 200;

struct Token {
  enum class Kind {
    kIdentifier,
    kInteger,  // decimal, octal with a leading 0, or hexadecimal
    kFloat,
    kString,  // includes its quotes
    kSymbol,  // one character
    kBad,     // already reported
    kEnd,
  };
  Kind kind = Kind::kEnd;
  TextRange range;
};

// Returns a token for a message: in single quotes, unless it is a string or the
// end of the text.
std::string QuotedToken(Token::Kind kind, absl::string_view text);

// Returns the tokens of `text` that begin at or after byte `begin`, followed by
// a kEnd token. Comments extend from # to the end of the line. A string must
// end on its line. Adds invalid tokens to `problems`, up to kMaxProblems.
std::vector<Token> Tokenize(absl::string_view text, size_t begin,
                            std::vector<TextProblem>* problems);

// Reads tokens one by one. The kEnd token can be read any number of times.
// `text` must outlive the stream.
class TokenStream {
 public:
  TokenStream(absl::string_view text, size_t begin,
              std::vector<TextProblem>* problems)
      : text_(text), tokens_(Tokenize(text, begin, problems)) {}

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Next() {
    const Token& token = Peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  absl::string_view Text(const Token& token) const {
    return text_.substr(token.range.begin, token.range.length);
  }

  bool IsAnyOf(const Token& token, absl::string_view symbols) const {
    return token.kind == Token::Kind::kSymbol &&
           symbols.find(text_[token.range.begin]) != absl::string_view::npos;
  }
  bool IsAtAnyOf(absl::string_view symbols) const {
    return IsAnyOf(Peek(), symbols);
  }
  bool TryConsumeAnyOf(absl::string_view symbols) {
    const bool found = IsAtAnyOf(symbols);
    if (found) Next();
    return found;
  }

  // Whether there is no line break between two tokens.
  bool AreOnSameLine(const Token& a, const Token& b) const;

  // Whether a field begins at the next token. After `rate:`, a field such as
  // `seed: 3` means that the value is missing.
  bool IsAtFieldStart() const {
    return Peek().kind == Token::Kind::kIdentifier && IsAnyOf(Peek(1), ":{");
  }

  // Reads the name of a field, `rate` or `[lab.my_score]`, as one token.
  std::optional<Token> ConsumeName();

  // Advances to the last of several tokens without spaces between them, such as
  // `fra.txt`.
  void SkipToLastAdjacentToken();

  // Skips the bracket at the next token and everything up to its closing
  // bracket. Not recursive.
  void SkipBracketed();
  // Skips the rest of the line of `first`. If the value continues on later
  // lines, also skips the rest of the value. Stops at the end of a message.
  void SkipToNextFieldLine(const Token& first);

 private:
  absl::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace regard

#endif  // OPTIONS_CONFIG_TEXT_H_
