#include "experiments/config/token_stream.h"

#include <algorithm>

namespace regard {

TokenStream::TokenStream(absl::string_view text, size_t begin,
                         std::vector<TextProblem>* problems)
    : text_(text), tokens_(Tokenize(text, begin, problems)) {}

const Token& TokenStream::Peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

const Token& TokenStream::Next() {
  const Token& token = Peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

absl::string_view TokenStream::Text(const Token& token) const {
  return text_.substr(token.range.begin, token.range.length);
}

bool TokenStream::Is(const Token& token, char symbol) const {
  return token.kind == Token::Kind::kSymbol &&
         text_[token.range.begin] == symbol;
}

bool TokenStream::TryConsume(char symbol) {
  if (!IsSymbol(symbol)) return false;
  Next();
  return true;
}

bool TokenStream::IsOpening() const {
  return IsSymbol('{') || IsSymbol('<') || IsSymbol('[');
}

bool TokenStream::IsClosing() const {
  return IsSymbol('}') || IsSymbol('>') || IsSymbol(']');
}

bool TokenStream::SameLine(const Token& a, const Token& b) const {
  const absl::string_view between = text_.substr(
      a.range.begin, std::max(a.range.begin, b.range.begin) - a.range.begin);
  return between.find('\n') == absl::string_view::npos;
}

bool TokenStream::StartsNextField() const {
  return Peek().kind == Token::Kind::kIdentifier &&
         (Is(Peek(1), ':') || Is(Peek(1), '{'));
}

std::optional<Token> TokenStream::ConsumeName() {
  if (Peek().kind == Token::Kind::kIdentifier) return Next();
  if (!IsSymbol('[')) return std::nullopt;
  const size_t begin = Next().range.begin;
  while (Peek().kind == Token::Kind::kIdentifier || IsSymbol('.') ||
         IsSymbol('/')) {
    Next();
  }
  if (!IsSymbol(']')) return std::nullopt;
  const size_t end = Next().range.begin + 1;
  return Token{Token::Kind::kIdentifier, {begin, end - begin}};
}

void TokenStream::PassWord() {
  while (Peek(1).range.begin == Peek().range.begin + Peek().range.length &&
         Peek(1).kind != Token::Kind::kEnd && !Is(Peek(1), '}') &&
         !Is(Peek(1), '>') && !Is(Peek(1), ']') && !Is(Peek(1), ',') &&
         !Is(Peek(1), ';')) {
    Next();
  }
}

void TokenStream::SkipBracketed() {
  int depth = 0;
  do {
    if (IsOpening()) ++depth;
    if (IsClosing()) --depth;
    Next();
  } while (depth > 0 && Peek().kind != Token::Kind::kEnd);
}

void TokenStream::SkipScalar() {
  TryConsume('-');
  if (IsClosing() || Peek().kind == Token::Kind::kEnd) return;
  const bool is_string = Next().kind == Token::Kind::kString;
  while (is_string && Peek().kind == Token::Kind::kString) Next();
}

void TokenStream::SkipValue() {
  const bool has_colon = TryConsume(':');
  if (IsOpening()) {
    SkipBracketed();
  } else if (has_colon && !StartsNextField()) {
    SkipScalar();
  }
  SkipSeparator();
}

void TokenStream::SkipSeparator() {
  if (!TryConsume(',')) TryConsume(';');
}

void TokenStream::SkipLine(const Token& first) {
  const size_t end = text_.find('\n', first.range.begin);
  while (Peek().kind != Token::Kind::kEnd && Peek().range.begin < end &&
         !IsSymbol('}') && !IsSymbol('>')) {
    if (IsOpening()) {
      SkipBracketed();
    } else {
      Next();
    }
  }
}

}  // namespace regard
