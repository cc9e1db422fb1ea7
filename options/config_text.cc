#include "options/config_text.h"

#include <utf8proc.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "files/utf8.h"

namespace regard {
namespace {

constexpr absl::string_view kOpening = "{<[";
constexpr absl::string_view kClosing = "}>]";

constexpr int kShownCharacters = 100;
constexpr int kShownBeforeCaret = 60;

bool StartsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

int CountCharacters(absl::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), StartsCharacter));
}

// Returns an offset up to `count` characters before `offset`.
size_t StepBack(absl::string_view text, size_t offset, int count) {
  while (offset > 0 && count > 0) {
    --offset;
    if (StartsCharacter(text[offset])) --count;
  }
  return offset;
}

bool IsShown(char32_t code_point) {
  const auto category =
      utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  // Excludes unassigned code points and the categories with the highest
  // numbers: line separators, control characters, format characters and private
  // use.
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZL;
}

bool StartsIdentifier(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool ContinuesIdentifier(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Returns the length of the escape at the start of `text`, as protobuf reads
// it. For an incomplete escape, returns the length of its valid part.
size_t EscapeLength(absl::string_view text) {
  const auto digits = [text](size_t begin, size_t most, const char* kind) {
    const size_t end = std::min(begin + most, text.size());
    return std::min(text.find_first_not_of(kind, begin), end);
  };
  constexpr char kHex[] = "0123456789abcdefABCDEF";
  switch (text[1]) {
    case 'x':
      return digits(2, 2, kHex);
    case 'u':
      return digits(2, 4, kHex);
    case 'U':
      return digits(2, 8, kHex);
    default:
      return std::max<size_t>(2, digits(1, 3, "01234567"));
  }
}

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

  // Returns the text from byte `begin` to the current position, for a message.
  std::string Text(size_t begin) const {
    return Printable(text_.substr(begin, at_ - begin));
  }

  Token::Kind Bad(size_t begin, std::string message) {
    if (problems_.size() < kMaxProblems) {
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
    // Skips the remaining bytes of a character outside ASCII.
    while (!StartsCharacter(Peek())) ++at_;
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
    if (Peek() != quote) {
      return Bad(begin, "the string has no closing quote");
    }
    ++at_;
    return good ? Token::Kind::kString : Token::Kind::kBad;
  }

  bool ConsumeEscape() {
    const size_t begin = at_;
    const char c = Peek(1);
    if (c == '\n' || c == '\0') {
      ++at_;
      return true;  // the caller reports an unterminated string
    }
    at_ += EscapeLength(text_.substr(at_));
    const absl::string_view digits = text_.substr(begin + 2, at_ - begin - 2);
    // Protobuf reads an invalid escape as a question mark, so invalid escapes
    // are rejected here. The largest code point is U+10FFFF.
    if (absl::string_view("abfnrtv\\?'\"01234567").find(c) !=
            absl::string_view::npos ||
        (c == 'x' && !digits.empty()) || (c == 'u' && digits.size() == 4) ||
        (c == 'U' && digits.size() == 8 &&
         absl::AsciiStrToUpper(digits) <= "0010FFFF")) {
      return true;
    }
    Bad(begin, absl::StrCat("unknown escape '\\",
                            Printable(text_.substr(begin + 1, 1), 1),
                            "' in a string; a backslash itself is '\\\\'"));
    return false;
  }

  absl::string_view text_;
  size_t at_;
  std::vector<TextProblem>& problems_;
};

}  // namespace

std::string Printable(absl::string_view text, int max_characters) {
  std::string shown;
  while (!text.empty()) {
    if (max_characters-- == 0) return absl::StrCat(shown, "...");
    const Character c = FirstCharacter(text);
    text.remove_prefix(c.bytes.size());
    const bool is_valid = c.code_point != 0xFFFD || c.bytes.size() > 1;
    if (c.code_point == '\t') {
      shown += ' ';
    } else {
      absl::StrAppend(&shown,
                      is_valid && IsShown(c.code_point) ? c.bytes : "?");
    }
    // An invalid character becomes one '?', so that the caret stays below its
    // column.
    while (!is_valid && !text.empty() && !StartsCharacter(text[0])) {
      text.remove_prefix(1);
    }
  }
  return shown;
}

std::optional<TextProblem> FindEncodingProblem(absl::string_view text) {
  if (text.size() > kMaxConfigBytes) {
    return TextProblem{
        {0, 1},
        absl::StrCat("has ", text.size(), " bytes; a config may have at most ",
                     kMaxConfigBytes)};
  }
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) {
    return TextProblem{{0, 1},
                       "the file begins with a byte order mark (BOM); save it "
                       "as UTF-8 without one"};
  }
  const size_t nul = std::min(text.find('\0'), text.size());
  const size_t invalid = static_cast<size_t>(
      FindInvalidUtf8(text).value_or(static_cast<int64_t>(text.size())));
  if (nul < invalid) {
    return TextProblem{{nul, 1}, "a config must not contain NUL bytes"};
  }
  if (invalid == text.size()) return std::nullopt;
  return TextProblem{
      {invalid, 1},
      absl::StrFormat("byte 0x%02X: a config must be UTF-8",
                      static_cast<unsigned char>(text[invalid]))};
}

ConfigTextWithOrigin ConfigTextWithOrigin::File(std::string name,
                                                std::string text) {
  return ConfigTextWithOrigin(std::move(name), std::move(text),
                              /*is_override=*/false);
}

ConfigTextWithOrigin ConfigTextWithOrigin::Override(std::string argument,
                                                    std::string place) {
  return ConfigTextWithOrigin(std::move(place), std::move(argument),
                              /*is_override=*/true);
}

ConfigTextWithOrigin::ConfigTextWithOrigin(std::string name, std::string text,
                                           bool is_override)
    : name_(std::move(name)),
      text_(std::move(text)),
      is_override_(is_override),
      line_starts_({0}) {
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

int ConfigTextWithOrigin::Line(size_t offset) const {
  return static_cast<int>(
      std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) -
      line_starts_.begin());
}

TextRange ConfigTextWithOrigin::LineRange(size_t offset) const {
  const size_t begin = line_starts_[Line(offset) - 1];
  size_t end = std::min(text_.find('\n', begin), text_.size());
  if (end > begin && text_[end - 1] == '\r') --end;
  return {begin, end - begin};
}

int ConfigTextWithOrigin::Column(size_t offset) const {
  const size_t begin = line_starts_[Line(offset) - 1];
  return 1 + CountCharacters(
                 absl::string_view(text_).substr(begin, offset - begin));
}

std::string ConfigTextWithOrigin::OriginWithLine(size_t offset) const {
  if (is_override_) return name_;
  return absl::StrCat(Printable(name_, kShownCharacters), ":", Line(offset));
}

std::string ConfigTextWithOrigin::OriginWithColumn(size_t offset) const {
  if (is_override_) return name_;
  return absl::StrCat(OriginWithLine(offset), ":", Column(offset));
}

TextRange ConfigTextWithOrigin::RangeInStringValue(
    const TextRange& name, const TextRange& within) const {
  // `places` has the position of each byte of the value in the text. `end` is
  // the end of the value.
  std::vector<TextRange> places;
  size_t end = name.begin + name.length;
  std::vector<TextProblem> ignored;
  TokenStream tokens(text_, end, &ignored);
  const bool is_argument = tokens.TryConsumeAnyOf("=");
  if (!is_argument) tokens.TryConsumeAnyOf(":");
  if (is_argument && tokens.Peek().kind != Token::Kind::kString) {
    while (++end < text_.size()) places.push_back({end, 1});
  }
  while (tokens.Peek().kind == Token::Kind::kString) {
    const TextRange token = tokens.Next().range;
    size_t at = token.begin + 1;
    end = token.begin + token.length - 1;
    while (at < end) {
      const absl::string_view rest =
          absl::string_view(text_).substr(at, end - at);
      const size_t length = rest[0] == '\\' ? EscapeLength(rest) : 1;
      std::string bytes;
      // CUnescape() rejects octal values above 255.
      const bool read = absl::CUnescape(rest.substr(0, length), &bytes);
      places.insert(places.end(), read ? bytes.size() : 1, {at, length});
      at += length;
    }
  }
  if (end == name.begin + name.length) return name;  // no string
  if (within.begin >= places.size()) return {end, 1};
  const size_t last =
      std::min(within.begin + std::max<size_t>(within.length, 1),
               places.size()) -
      1;
  const size_t begin = places[within.begin].begin;
  return {begin, places[last].begin + places[last].length - begin};
}

std::string ConfigTextWithOrigin::Diagnostic(const TextProblem& problem) const {
  const size_t offset = std::min(problem.range.begin, text_.size());
  const TextRange range = LineRange(offset);
  const absl::string_view line =
      absl::string_view(text_).substr(range.begin, range.length);
  const size_t caret = std::min(offset - range.begin, line.size());
  const size_t from = CountCharacters(line) <= kShownCharacters
                          ? 0
                          : StepBack(line, caret, kShownBeforeCaret);
  const std::string lead = from > 0 ? "..." : "";
  const int before = static_cast<int>(lead.size()) +
                     CountCharacters(line.substr(from, caret - from));
  const int marked =
      std::clamp(CountCharacters(line.substr(caret, problem.range.length)), 1,
                 kShownCharacters - kShownBeforeCaret);
  return absl::StrCat(
      OriginWithColumn(offset), ": error: ", problem.message, "\n  ", lead,
      Printable(line.substr(from), kShownCharacters), "\n  ",
      std::string(before, ' '), "^", std::string(marked - 1, '~'));
}

std::string QuotedToken(Token::Kind kind, absl::string_view text) {
  if (kind == Token::Kind::kEnd) return "the end of the text";
  const char* quote = kind == Token::Kind::kString ? "" : "'";
  return absl::StrCat(quote, Printable(text), quote);
}

bool TokenStream::AreOnSameLine(const Token& a, const Token& b) const {
  const absl::string_view between = text_.substr(
      a.range.begin, std::max(a.range.begin, b.range.begin) - a.range.begin);
  return between.find('\n') == absl::string_view::npos;
}

std::optional<Token> TokenStream::ConsumeName() {
  if (Peek().kind == Token::Kind::kIdentifier) return Next();
  if (!IsAtAnyOf("[")) return std::nullopt;
  const size_t begin = Next().range.begin;
  // A name with two words in a row is not valid.
  bool after_word = false;
  while ((Peek().kind == Token::Kind::kIdentifier && !after_word) ||
         IsAtAnyOf("./")) {
    after_word = Next().kind == Token::Kind::kIdentifier;
  }
  if (!IsAtAnyOf("]")) return std::nullopt;
  const size_t end = Next().range.begin + 1;
  return Token{Token::Kind::kIdentifier, {begin, end - begin}};
}

void TokenStream::SkipToLastAdjacentToken() {
  while (Peek(1).range.begin == Peek().range.begin + Peek().range.length &&
         Peek(1).kind != Token::Kind::kEnd && !IsAnyOf(Peek(1), "}>],;")) {
    Next();
  }
}

void TokenStream::SkipBracketed() {
  int depth = 0;
  do {
    if (IsAtAnyOf(kOpening)) ++depth;
    if (IsAtAnyOf(kClosing)) --depth;
    Next();
  } while (depth > 0 && Peek().kind != Token::Kind::kEnd);
}

void TokenStream::SkipToNextFieldLine(const Token& first) {
  const size_t end = text_.find('\n', first.range.begin);
  const auto may_be_name = [this] {
    return Peek().kind == Token::Kind::kIdentifier || IsAtAnyOf("[");
  };
  while (Peek().kind != Token::Kind::kEnd && !IsAtAnyOf("}>") &&
         (Peek().range.begin < end || !may_be_name())) {
    if (IsAtAnyOf(kOpening)) {
      SkipBracketed();
    } else {
      Next();
    }
  }
}

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
