#include "experiments/config/text_checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/config/lexer.h"
#include "experiments/config/nearest_name.h"
#include "experiments/config/value_check.h"

namespace regard {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

constexpr int kQuotedCharacters = 40;

// What one message body has set so far.
struct Body {
  const Descriptor& message;
  std::string path;
  std::map<const FieldDescriptor*, int> counts;
  std::map<const FieldDescriptor*, size_t> places;
  std::map<const OneofDescriptor*, const FieldDescriptor*> chosen;
};

// A recursive descent over the tokens of one text.
class Checker {
 public:
  Checker(absl::string_view text, size_t begin)
      : text_(text), tokens_(Tokenize(text, begin, &unreadable_)) {}

  CheckedText Finish() {
    auto& problems = checked_.problems;
    problems.insert(problems.end(), unreadable_.begin(), unreadable_.end());
    std::stable_sort(problems.begin(), problems.end(),
                     [](const TextProblem& a, const TextProblem& b) {
                       return a.range.begin < b.range.begin;
                     });
    if (problems.size() > kMostProblems) problems.resize(kMostProblems);
    return std::move(checked_);
  }

  void CheckTop(const Descriptor& message) {
    Body body{message, "", {}, {}, {}};
    while (!IsFull() && Peek().kind != Token::Kind::kEnd) {
      if (IsSymbol('}') || IsSymbol('>')) {
        Problem(Next(), "there is no open message to close");
      } else {
        CheckField(&body);
      }
    }
  }

  void CheckOneValue(Mention mention) {
    checked_.mentions.push_back(mention);
    name_ = {Token::Kind::kIdentifier, mention.range};
    if (mention.field->is_repeated() && mention.is_list) {
      Body body{*mention.field->containing_type(), mention.parent, {}, {}, {}};
      CheckListOrElement(*mention.field, &body);
    } else {
      CheckElement(*mention.field, mention.Path());
    }
    if (Peek().kind != Token::Kind::kEnd && !IsFull()) {
      Problem(Peek(), absl::StrCat("nothing may follow the value, got ",
                                   Quoted(Peek())));
    }
  }

 private:
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
  bool Is(const Token& token, char symbol) const {
    return token.kind == Token::Kind::kSymbol &&
           text_[token.range.begin] == symbol;
  }
  bool IsSymbol(char symbol) const { return Is(Peek(), symbol); }
  bool TryConsume(char symbol) {
    if (!IsSymbol(symbol)) return false;
    Next();
    return true;
  }
  bool IsOpening() const {
    return IsSymbol('{') || IsSymbol('<') || IsSymbol('[');
  }
  bool IsClosing() const {
    return IsSymbol('}') || IsSymbol('>') || IsSymbol(']');
  }

  std::string Quoted(const Token& token) const {
    if (token.kind == Token::Kind::kEnd) return "the end of the text";
    return absl::StrCat("'", Printable(Text(token), kQuotedCharacters), "'");
  }

  bool IsFull() const { return checked_.problems.size() >= kMostProblems; }

  // What the lexer could not read is reported already.
  void Problem(const Token& token, std::string message) {
    if (token.kind == Token::Kind::kBad) return;
    checked_.problems.push_back({token.range, std::move(message)});
  }

  bool SameLine(const Token& a, const Token& b) const {
    const absl::string_view between = text_.substr(
        a.range.begin, std::max(a.range.begin, b.range.begin) - a.range.begin);
    return between.find('\n') == absl::string_view::npos;
  }

  // Passes brackets of all kinds until the one that is open here is closed;
  // does not recurse.
  void SkipBracketed() {
    int depth = 0;
    do {
      if (IsOpening()) ++depth;
      if (IsClosing()) --depth;
      Next();
    } while (depth > 0 && Peek().kind != Token::Kind::kEnd);
  }

  void SkipScalar() {
    TryConsume('-');
    if (IsClosing() || Peek().kind == Token::Kind::kEnd) return;
    const bool is_string = Next().kind == Token::Kind::kString;
    while (is_string && Peek().kind == Token::Kind::kString) Next();
  }

  // Moves to the last of the tokens that touch each other here, as those of
  // fra.txt do.
  void PassWord() {
    while (Peek(1).range.begin == Peek().range.begin + Peek().range.length &&
           Peek(1).kind != Token::Kind::kEnd && !Is(Peek(1), '}') &&
           !Is(Peek(1), '>') && !Is(Peek(1), ']') && !Is(Peek(1), ',') &&
           !Is(Peek(1), ';')) {
      Next();
    }
  }

  // Passes whatever stands after a name that means nothing.
  void SkipValue() {
    const bool has_colon = TryConsume(':');
    if (IsOpening()) {
      SkipBracketed();
    } else if (has_colon && !StartsNextField()) {
      SkipScalar();
    }
    SkipSeparator();
  }

  void SkipSeparator() {
    if (!TryConsume(',')) TryConsume(';');
  }

  void SkipLine(const Token& first) {
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

  // The value was forgotten: `rate:` and on the next line `seed: 3`.
  bool StartsNextField() const {
    return Peek().kind == Token::Kind::kIdentifier &&
           (Is(Peek(1), ':') || Is(Peek(1), '{'));
  }

  // A field's name, as `rate` or `[lab.my_score]`; its token spans all of it.
  std::optional<Token> ConsumeName() {
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

  void CheckField(Body* body) {
    const Token first = Peek();
    const std::optional<Token> name = ConsumeName();
    if (!name.has_value()) {
      Problem(first, absl::StrCat("expected the name of a field, got ",
                                  Quoted(first)));
      if (Peek().range.begin == first.range.begin) Next();
      SkipLine(first);
      return;
    }
    std::string written(Text(*name));
    written.erase(
        std::remove_if(written.begin(), written.end(), absl::ascii_isspace),
        written.end());
    const FieldDescriptor* field = FindField(body->message, written);
    if (field == nullptr) {
      Problem(*name, NoSuchField(body->message, written));
      SkipValue();
      return;
    }
    name_ = *name;
    CheckSetOnce(*field, body);
    Note(*field, *body, written);
    if (!ConsumeColon(*field)) return;
    CheckListOrElement(*field, body);
    SkipSeparator();
  }

  // Messages need no colon.
  bool ConsumeColon(const FieldDescriptor& field) {
    if (TryConsume(':')) return true;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return true;
    if (IsOpening() && !IsSymbol('[')) return true;  // reported as its value
    Problem(name_, absl::StrCat("expected ':' and ", DescribeType(field),
                                " after '", field.name(), "'"));
    if (SameLine(name_, Peek()) && !StartsNextField()) SkipScalar();
    return false;
  }

  void CheckSetOnce(const FieldDescriptor& field, Body* body) {
    if (field.is_repeated()) return;
    const auto [place, is_new] =
        body->places.emplace(&field, name_.range.begin);
    if (!is_new) {
      Problem(name_, absl::StrCat("'", field.name(), "' is set twice; first ",
                                  "on line ", LineOf(place->second)));
      return;
    }
    const OneofDescriptor* oneof = field.real_containing_oneof();
    if (oneof == nullptr) return;
    const auto [other, is_first] = body->chosen.emplace(oneof, &field);
    if (is_first) return;
    Problem(name_, absl::StrCat("'", field.name(), "' excludes '",
                                other->second->name(), "', set on line ",
                                LineOf(body->places[other->second]),
                                ": only one ", oneof->name(), " can be"));
  }

  int LineOf(size_t offset) const {
    return 1 + static_cast<int>(
                   std::count(text_.begin(), text_.begin() + offset, '\n'));
  }

  void Note(const FieldDescriptor& field, const Body& body, std::string name) {
    // A list begins once, at its first mention.
    if (body.counts.contains(&field)) return;
    checked_.mentions.push_back(
        {body.path, std::move(name), &field, name_.range, field.is_repeated()});
  }

  void CheckListOrElement(const FieldDescriptor& field, Body* body) {
    if (!field.is_repeated()) {
      CheckElement(field, checked_.mentions.back().Path());
      return;
    }
    if (!TryConsume('[')) {
      body->counts[&field];
      CheckNextElement(field, body);
      return;
    }
    const Token opening = tokens_[at_ - 1];
    body->counts[&field];
    while (!IsFull() && !IsSymbol(']')) {
      if (Peek().kind == Token::Kind::kEnd) {
        Problem(opening, "this '[' is never closed");
        return;
      }
      CheckNextElement(field, body);
      if (IsSymbol(']')) break;
      if (!TryConsume(',') && Peek().kind != Token::Kind::kEnd) {
        Problem(Peek(),
                absl::StrCat("expected ',' or ']', got ", Quoted(Peek())));
        SkipLine(Peek());
        return;
      }
      if (IsSymbol(']')) Problem(Peek(), "expected a value after ','");
    }
    TryConsume(']');
  }

  void CheckNextElement(const FieldDescriptor& field, Body* body) {
    const std::string name = absl::StrCat(
        field.is_extension() ? absl::StrCat("[", field.full_name(), "]")
                             : field.name(),
        "[", body->counts[&field]++, "]");
    checked_.mentions.push_back(
        {body->path, name, &field, name_.range, /*is_list=*/false});
    CheckElement(field, checked_.mentions.back().Path());
  }

  // One value, after its colon.
  void CheckElement(const FieldDescriptor& field, const std::string& path) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      CheckMessage(field, path);
    } else {
      CheckScalar(field);
    }
  }

  void CheckMessage(const FieldDescriptor& field, const std::string& path) {
    if (!IsSymbol('{') && !IsSymbol('<')) {
      const bool missing =
          StartsNextField() || IsClosing() || Peek().kind == Token::Kind::kEnd;
      Problem(
          missing ? name_ : Peek(),
          absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                       missing ? "" : ", got ", missing ? "" : Quoted(Peek())));
      if (!missing) SkipScalar();
      return;
    }
    const Token opening = Peek();
    if (depth_ == kDeepestNesting) {
      Problem(opening, absl::StrCat("messages are nested deeper than ",
                                    kDeepestNesting));
      SkipBracketed();
      return;
    }
    Next();
    ++depth_;
    CheckBody(*field.message_type(), path, opening);
    --depth_;
  }

  void CheckBody(const Descriptor& message, const std::string& path,
                 const Token& opening) {
    const char closing = Is(opening, '{') ? '}' : '>';
    Body body{message, path, {}, {}, {}};
    while (!IsFull() && !TryConsume(closing)) {
      if (Peek().kind == Token::Kind::kEnd) {
        Problem(opening,
                absl::StrCat("this '", Text(opening), "' is never closed"));
        return;
      }
      if (IsSymbol('}') || IsSymbol('>')) {
        Problem(Peek(), absl::StrCat("expected '", std::string(1, closing),
                                     "', got ", Quoted(Peek())));
        Next();
        return;
      }
      CheckField(&body);
    }
  }

  void CheckScalar(const FieldDescriptor& field) {
    if (IsClosing() || Peek().kind == Token::Kind::kEnd ||
        (StartsNextField() && !SameLine(name_, Peek()))) {
      Problem(name_,
              absl::StrCat("'", field.name(), "' has no value: it takes ",
                           DescribeType(field)));
      return;
    }
    WrittenValue value;
    const Token first = Peek();
    value.negative = TryConsume('-');
    value.kind = Peek().kind;
    value.text = Text(Peek());
    TextRange range = first.range;
    range.length = Peek().range.begin + Peek().range.length - range.begin;
    if (IsOpening()) {
      Problem(first, *FindValueProblem(field, value));
      SkipBracketed();
      return;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        value.kind != Token::Kind::kString) {
      PassWord();
      const Token& last = tokens_[at_];
      range.length = last.range.begin + last.range.length - range.begin;
      value = {false, value.kind, text_.substr(range.begin, range.length)};
    }
    if (std::optional<std::string> problem = FindValueProblem(field, value)) {
      Problem({value.kind, range}, *std::move(problem));
      if (value.kind == Token::Kind::kSymbol) return SkipLine(first);
    }
    Next();
    // Neighbouring strings are one.
    while (value.kind == Token::Kind::kString &&
           Peek().kind == Token::Kind::kString) {
      value.text = Text(Peek());
      if (std::optional<std::string> problem = FindValueProblem(field, value)) {
        Problem(Peek(), *std::move(problem));
      }
      Next();
    }
  }

  absl::string_view text_;
  std::vector<TextProblem> unreadable_;  // found by the lexer
  CheckedText checked_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  Token name_;  // of the field whose value is being read
};

}  // namespace

std::string Mention::Path() const { return JoinPath(parent, name); }

CheckedText CheckText(absl::string_view text, const Descriptor& message) {
  Checker checker(text, 0);
  checker.CheckTop(message);
  return checker.Finish();
}

CheckedText CheckValue(absl::string_view text, size_t begin, Mention mention) {
  Checker checker(text, begin);
  checker.CheckOneValue(std::move(mention));
  return checker.Finish();
}

const FieldDescriptor* FindField(const Descriptor& message,
                                 absl::string_view name) {
  if (name.empty() || name[0] != '[') {
    return message.FindFieldByName(std::string(name));
  }
  if (name.size() < 2) return nullptr;
  return message.file()->pool()->FindExtensionByPrintableName(
      &message, std::string(name.substr(1, name.size() - 2)));
}

std::string NoSuchField(const Descriptor& message, absl::string_view name) {
  const std::string shown = Printable(name, kQuotedCharacters);
  if (message.IsReservedName(std::string(name))) {
    return absl::StrCat("'", shown, "' is no longer a field of ",
                        message.name());
  }
  std::vector<std::string> candidates;
  if (const OneofDescriptor* oneof =
          message.FindOneofByName(std::string(name))) {
    for (int i = 0; i < oneof->field_count(); ++i) {
      candidates.push_back(oneof->field(i)->name());
    }
    return absl::StrCat("'", shown, "' is a choice, not a field; write one of ",
                        absl::StrJoin(candidates, ", "));
  }
  if (!name.empty() && name[0] == '[') {
    std::vector<const FieldDescriptor*> extensions;
    message.file()->pool()->FindAllExtensions(&message, &extensions);
    for (const FieldDescriptor* extension : extensions) {
      candidates.push_back(absl::StrCat("[", extension->full_name(), "]"));
    }
    std::sort(candidates.begin(), candidates.end());
    return absl::StrCat("no extension '", shown, "' of ", message.name(),
                        " is linked in", SuggestName(name, candidates));
  }
  for (int i = 0; i < message.field_count(); ++i) {
    candidates.push_back(message.field(i)->name());
  }
  return absl::StrCat("no field '", shown, "' in ", message.name(),
                      SuggestName(name, candidates));
}

std::string JoinPath(absl::string_view parent, absl::string_view name) {
  return absl::StrCat(parent, parent.empty() || name.empty() ? "" : ".", name);
}

}  // namespace regard
