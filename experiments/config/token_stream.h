// The tokens of a text config in reading order, and ways past a broken part.
#ifndef EXPERIMENTS_CONFIG_TOKEN_STREAM_H_
#define EXPERIMENTS_CONFIG_TOKEN_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"

namespace regard {

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
  // See Tokenize.
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

  // Whether `token` is one of `symbols`.
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

  // Moves to the last of the tokens that touch each other here, as those of
  // fra.txt do.
  void PassWord();

  // Passes brackets of all kinds until the one that is open here is closed.
  // Does not recurse.
  void SkipBracketed();
  // Passes one value that is no message.
  void SkipScalar();
  // Passes whatever stands after a name that means nothing.
  void SkipValue();
  // Passes the rest of the line of `first`, up to what closes a message.
  void SkipLine(const Token& first);

 private:
  absl::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_TOKEN_STREAM_H_
