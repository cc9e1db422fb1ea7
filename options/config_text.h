// A text that settings come from (a file, an embedded text or one `--set`
// argument), its tokens in reading order, with ways past a broken part, and how
// a problem in it is shown:
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

// Bytes [begin, begin + length) of a text.
struct TextRange {
  size_t begin = 0;
  size_t length = 0;
};

struct TextProblem {
  TextRange range;
  std::string message;
};

// Problems of one text beyond these are not looked for.
inline constexpr size_t kMostProblems = 20;

// Larger texts are refused, files before they are read.
inline constexpr size_t kMostConfigBytes = size_t{1} << 20;

// A byte order mark, a NUL byte, invalid UTF-8 or too many bytes of `text`.
std::optional<TextProblem> FindEncodingProblem(absl::string_view text);

class ConfigText {
 public:
  // `name`: the path as the user gave it, or what an embedded text is called.
  static ConfigText File(std::string name, std::string text);
  // `argument` is `path=value`; `place` says where the user wrote it.
  static ConfigText Override(std::string argument, std::string place = "--set");

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  bool is_override() const { return is_override_; }

  // 1-based.
  int Line(size_t offset) const;
  // 1-based, in characters; a tab is one.
  int Column(size_t offset) const;

  // Where a value came from: `file.textproto:12`, or `--set`.
  std::string Origin(size_t offset) const;
  // The same with the column: `file.textproto:12:3`.
  std::string Where(size_t offset) const;

  // Where bytes `within` of a field's string are written: the field's name is
  // at `name`, and its value, strings in a row or the rest of an argument,
  // follows. The name itself if none does.
  TextRange InString(const TextRange& name, const TextRange& within) const;

  // The lines to print for a problem: place and message, source line, caret.
  // Long lines are cut around the caret; what a terminal might obey or hide is
  // replaced by '?'. No newline at the end.
  std::string Diagnostic(const TextProblem& problem) const;

 private:
  ConfigText(std::string name, std::string text, bool is_override);

  TextRange LineRange(size_t offset) const;

  std::string name_;
  std::string text_;
  bool is_override_;
  std::vector<size_t> line_starts_;
};

// Cuts `text`, and replaces control, invisible and invalid characters by '?'.
std::string Printable(absl::string_view text, int max_characters = 40);

// Characters that are shown of the name of a file.
inline constexpr int kNameCharacters = 200;

struct Token {
  enum class Kind {
    kIdentifier,
    kInteger,  // decimal, octal with a leading 0, or hexadecimal
    kFloat,
    kString,  // with its quotes
    kSymbol,  // one character
    kBad,     // already reported
    kEnd,
  };
  Kind kind = Kind::kEnd;
  TextRange range;
};

// A token of that text as messages show it: a string has quotes of its own.
std::string QuotedToken(Token::Kind kind, absl::string_view text);

// All tokens of `text` from byte `begin` on, closed by one kEnd. Comments run
// from # to the end of the line; a string ends on its line. What is no token
// is added to `problems`, up to kMostProblems.
std::vector<Token> Tokenize(absl::string_view text, size_t begin,
                            std::vector<TextProblem>* problems);

// Stops at the kEnd token: it can be read any number of times. `text` must
// outlive the stream.
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

  bool Is(const Token& token, absl::string_view symbols) const {
    return token.kind == Token::Kind::kSymbol &&
           symbols.find(text_[token.range.begin]) != absl::string_view::npos;
  }
  bool AtSymbol(absl::string_view symbols) const { return Is(Peek(), symbols); }
  bool TryConsume(absl::string_view symbols) {
    const bool found = AtSymbol(symbols);
    if (found) Next();
    return found;
  }

  // No line ends between them.
  bool SameLine(const Token& a, const Token& b) const;

  // A value was forgotten: after `rate:` comes `seed: 3`.
  bool StartsNextField() const {
    return Peek().kind == Token::Kind::kIdentifier && Is(Peek(1), ":{");
  }

  // A field's name, as `rate` or `[lab.my_score]`; its token spans all of it.
  std::optional<Token> ConsumeName();

  // Moves to the last of the tokens that touch each other, as in fra.txt.
  void PassWord();

  // Passes all up to the bracket that closes the open one; does not recurse.
  void SkipBracketed();
  // Passes the rest of the line of `first`, and of its value if that goes on
  // below, up to what closes a message.
  void SkipLine(const Token& first);

 private:
  absl::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace regard

#endif  // OPTIONS_CONFIG_TEXT_H_
