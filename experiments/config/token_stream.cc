#include "experiments/config/token_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace regard {

namespace {

constexpr absl::string_view kOpening = "{<[";
constexpr absl::string_view kClosing = "}>]";

}  // namespace

std::string QuotedToken(Token::Kind kind, absl::string_view text) {
  if (kind == Token::Kind::kEnd) return "the end of the text";
  const char* quote = kind == Token::Kind::kString ? "" : "'";
  return absl::StrCat(quote, Printable(text), quote);
}

bool TokenStream::SameLine(const Token& a, const Token& b) const {
  const absl::string_view between = text_.substr(
      a.range.begin, std::max(a.range.begin, b.range.begin) - a.range.begin);
  return between.find('\n') == absl::string_view::npos;
}

std::optional<Token> TokenStream::ConsumeName() {
  if (Peek().kind == Token::Kind::kIdentifier) return Next();
  if (!AtSymbol("[")) return std::nullopt;
  const size_t begin = Next().range.begin;
  // Two words in a row are no name.
  bool after_word = false;
  while ((Peek().kind == Token::Kind::kIdentifier && !after_word) ||
         AtSymbol("./")) {
    after_word = Next().kind == Token::Kind::kIdentifier;
  }
  if (!AtSymbol("]")) return std::nullopt;
  const size_t end = Next().range.begin + 1;
  return Token{Token::Kind::kIdentifier, {begin, end - begin}};
}

void TokenStream::PassWord() {
  while (Peek(1).range.begin == Peek().range.begin + Peek().range.length &&
         Peek(1).kind != Token::Kind::kEnd && !Is(Peek(1), "}>],;")) {
    Next();
  }
}

void TokenStream::SkipBracketed() {
  int depth = 0;
  do {
    if (AtSymbol(kOpening)) ++depth;
    if (AtSymbol(kClosing)) --depth;
    Next();
  } while (depth > 0 && Peek().kind != Token::Kind::kEnd);
}

void TokenStream::SkipScalar() {
  TryConsume("-");
  if (AtSymbol(kClosing) || Peek().kind == Token::Kind::kEnd) return;
  const bool is_string = Next().kind == Token::Kind::kString;
  while (is_string && Peek().kind == Token::Kind::kString) Next();
}

void TokenStream::SkipValue() {
  const bool has_colon = TryConsume(":");
  if (AtSymbol(kOpening)) {
    SkipBracketed();
  } else if (has_colon && !StartsNextField()) {
    SkipScalar();
  }
  TryConsume(",;");
}

void TokenStream::SkipLine(const Token& first) {
  const size_t end = text_.find('\n', first.range.begin);
  while (Peek().kind != Token::Kind::kEnd && Peek().range.begin < end &&
         !AtSymbol("}>")) {
    if (AtSymbol(kOpening)) {
      SkipBracketed();
    } else {
      Next();
    }
  }
}

namespace {

bool StartsIdentifier(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool ContinuesIdentifier(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Reads over one text, from left to right.
class Lexer {
 public:
  Lexer(absl::string_view text, size_t begin,
        std::vector<TextProblem>* problems)
      : text_(text), at_(begin), problems_(*problems) {}

  Token Next() {
    SkipSpaceAndComments();
    const size_t begin = at_;
    const Token::Kind kind = Consume();
    return {kind, {begin, at_ - begin}};
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void SkipSpaceAndComments() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (absl::ascii_isspace(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  // What was read from byte `begin` on, as messages show it.
  std::string Text(size_t begin) const {
    return Printable(text_.substr(begin, at_ - begin));
  }

  Token::Kind Bad(size_t begin, std::string message) {
    if (problems_.size() < kMostProblems) {
      problems_.push_back({{begin, at_ - begin}, std::move(message)});
    }
    return Token::Kind::kBad;
  }

  Token::Kind Consume() {
    if (at_ >= text_.size()) return Token::Kind::kEnd;
    const char c = Peek();
    if (StartsIdentifier(c)) {
      while (ContinuesIdentifier(Peek())) ++at_;
      return Token::Kind::kIdentifier;
    }
    if (absl::ascii_isdigit(c) || (c == '.' && absl::ascii_isdigit(Peek(1)))) {
      return ConsumeNumber();
    }
    if (c == '"' || c == '\'') return ConsumeString();
    const size_t begin = at_++;
    if (absl::ascii_ispunct(c)) return Token::Kind::kSymbol;
    // A character outside ASCII is taken whole.
    while ((static_cast<unsigned char>(Peek()) & 0xC0) == 0x80) ++at_;
    return Bad(begin, absl::StrCat("unexpected character '", Text(begin), "'"));
  }

  Token::Kind ConsumeNumber() {
    const size_t begin = at_;
    const bool hex = Peek() == '0' && absl::ascii_tolower(Peek(1)) == 'x';
    while (ContinuesIdentifier(Peek()) || Peek() == '.' ||
           (!hex && (Peek() == '+' || Peek() == '-') &&
            absl::ascii_tolower(text_[at_ - 1]) == 'e')) {
      ++at_;
    }
    const std::string number =
        absl::AsciiStrToLower(text_.substr(begin, at_ - begin));
    const auto all = [&number](size_t from, const char* digits) {
      return number.find_first_not_of(digits, from) == std::string::npos;
    };
    if (all(0, "0123456789") ||
        (hex && number.size() > 2 && all(2, "0123456789abcdef"))) {
      return Token::Kind::kInteger;
    }
    double value;
    if (!hex && absl::SimpleAtod(absl::StripSuffix(number, "f"), &value)) {
      return Token::Kind::kFloat;
    }
    return Bad(begin, absl::StrCat("'", Text(begin), "' is not a number"));
  }

  Token::Kind ConsumeString() {
    const size_t begin = at_;
    const char quote = text_[at_++];
    bool good = true;
    while (at_ < text_.size() && Peek() != quote && Peek() != '\n') {
      if (Peek() == '\\') {
        good &= ConsumeEscape();
      } else {
        ++at_;
      }
    }
    if (Peek() != quote) return Bad(begin, "the string is never closed");
    ++at_;
    return good ? Token::Kind::kString : Token::Kind::kBad;
  }

  bool ConsumeEscape() {
    const size_t begin = at_++;
    const char c = Peek();
    if (c == '\n' || c == '\0') return true;  // reported as never closed
    ++at_;
    if (absl::string_view("abfnrtv\\?'\"01234567").find(c) !=
        absl::string_view::npos) {
      return true;
    }
    if ((c == 'x' || c == 'X') && absl::ascii_isxdigit(Peek())) return true;
    if (c == 'u' && ConsumeHexDigits(4)) return true;
    // Up to U+10FFFF, the last character.
    if (c == 'U' && Peek() == '0' && Peek(1) == '0' &&
        (Peek(2) == '0' || (Peek(2) == '1' && Peek(3) == '0')) &&
        ConsumeHexDigits(8)) {
      return true;
    }
    Bad(begin, absl::StrCat("unknown escape '\\",
                            Printable(text_.substr(begin + 1, 1), 1),
                            "' in a string; a backslash itself is '\\\\'"));
    return false;
  }

  bool ConsumeHexDigits(int count) {
    for (; count > 0; --count) {
      if (!absl::ascii_isxdigit(Peek())) return false;
      ++at_;
    }
    return true;
  }

  absl::string_view text_;
  size_t at_;
  std::vector<TextProblem>& problems_;
};

}  // namespace

std::vector<Token> Tokenize(absl::string_view text, size_t begin,
                            std::vector<TextProblem>* problems) {
  Lexer lexer(text, begin, problems);
  std::vector<Token> tokens;
  do {
    tokens.push_back(lexer.Next());
  } while (tokens.back().kind != Token::Kind::kEnd);
  return tokens;
}

}  // namespace regard
