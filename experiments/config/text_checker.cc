#include "experiments/config/text_checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "experiments/config/field_names.h"
#include "experiments/config/token_stream.h"
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
      : text_(text), tokens_(text, begin, &unreadable_) {}

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
    while (!IsFull() && tokens_.Peek().kind != Token::Kind::kEnd) {
      if (tokens_.IsSymbol('}') || tokens_.IsSymbol('>')) {
        Problem(tokens_.Next(), "there is no open message to close");
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
    if (tokens_.Peek().kind != Token::Kind::kEnd && !IsFull()) {
      Problem(tokens_.Peek(), absl::StrCat("nothing may follow the value, got ",
                                           Quoted(tokens_.Peek())));
    }
  }

 private:
  std::string Quoted(const Token& token) const {
    if (token.kind == Token::Kind::kEnd) return "the end of the text";
    return absl::StrCat("'", Printable(tokens_.Text(token), kQuotedCharacters),
                        "'");
  }

  bool IsFull() const { return checked_.problems.size() >= kMostProblems; }

  // What the lexer could not read is reported already.
  void Problem(const Token& token, std::string message) {
    if (token.kind == Token::Kind::kBad) return;
    checked_.problems.push_back({token.range, std::move(message)});
  }

  void CheckField(Body* body) {
    const Token first = tokens_.Peek();
    const std::optional<Token> name = tokens_.ConsumeName();
    if (!name.has_value()) {
      Problem(first, absl::StrCat("expected the name of a field, got ",
                                  Quoted(first)));
      if (tokens_.Peek().range.begin == first.range.begin) tokens_.Next();
      tokens_.SkipLine(first);
      return;
    }
    std::string written(tokens_.Text(*name));
    written.erase(
        std::remove_if(written.begin(), written.end(), absl::ascii_isspace),
        written.end());
    const FieldDescriptor* field = FindField(body->message, written);
    if (field == nullptr) {
      Problem(*name, NoSuchField(body->message, written));
      tokens_.SkipValue();
      return;
    }
    if (!field->is_extension() && written != field->name()) {
      written = field->name();
      checked_.present_names.emplace_back(name->range, written);
    }
    name_ = *name;
    CheckSetOnce(*field, body);
    Note(*field, *body, written);
    if (!ConsumeColon(*field)) return;
    CheckListOrElement(*field, body);
    tokens_.SkipSeparator();
  }

  // Messages need no colon.
  bool ConsumeColon(const FieldDescriptor& field) {
    if (tokens_.TryConsume(':')) return true;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return true;
    if (tokens_.IsOpening() && !tokens_.IsSymbol('['))
      return true;  // reported as its value
    Problem(name_, absl::StrCat("expected ':' and ", DescribeType(field),
                                " after '", field.name(), "'"));
    if (tokens_.SameLine(name_, tokens_.Peek()) && !tokens_.StartsNextField())
      tokens_.SkipScalar();
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
    const Token opening = tokens_.Peek();
    body->counts[&field];
    if (!tokens_.TryConsume('[')) {
      CheckNextElement(field, body);
      return;
    }
    while (!IsFull() && !tokens_.IsSymbol(']')) {
      if (tokens_.Peek().kind == Token::Kind::kEnd) {
        Problem(opening, "this '[' is never closed");
        return;
      }
      CheckNextElement(field, body);
      if (tokens_.IsSymbol(']')) break;
      if (!tokens_.TryConsume(',') &&
          tokens_.Peek().kind != Token::Kind::kEnd) {
        Problem(tokens_.Peek(), absl::StrCat("expected ',' or ']', got ",
                                             Quoted(tokens_.Peek())));
        tokens_.SkipLine(tokens_.Peek());
        return;
      }
      if (tokens_.IsSymbol(']'))
        Problem(tokens_.Peek(), "expected a value after ','");
    }
    tokens_.TryConsume(']');
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
    if (!tokens_.IsSymbol('{') && !tokens_.IsSymbol('<')) {
      const bool missing = tokens_.StartsNextField() || tokens_.IsClosing() ||
                           tokens_.Peek().kind == Token::Kind::kEnd;
      Problem(missing ? name_ : tokens_.Peek(),
              absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                           missing ? "" : ", got ",
                           missing ? "" : Quoted(tokens_.Peek())));
      if (!missing) tokens_.SkipScalar();
      return;
    }
    const Token opening = tokens_.Peek();
    if (depth_ == kDeepestNesting) {
      Problem(opening, absl::StrCat("messages are nested deeper than ",
                                    kDeepestNesting));
      tokens_.SkipBracketed();
      return;
    }
    tokens_.Next();
    ++depth_;
    CheckBody(*field.message_type(), path, opening);
    --depth_;
  }

  void CheckBody(const Descriptor& message, const std::string& path,
                 const Token& opening) {
    const char closing = tokens_.Is(opening, '{') ? '}' : '>';
    Body body{message, path, {}, {}, {}};
    while (!IsFull() && !tokens_.TryConsume(closing)) {
      if (tokens_.Peek().kind == Token::Kind::kEnd) {
        Problem(opening, absl::StrCat("this '", tokens_.Text(opening),
                                      "' is never closed"));
        return;
      }
      if (tokens_.IsSymbol('}') || tokens_.IsSymbol('>')) {
        Problem(tokens_.Peek(),
                absl::StrCat("expected '", std::string(1, closing), "', got ",
                             Quoted(tokens_.Peek())));
        tokens_.Next();
        return;
      }
      CheckField(&body);
    }
  }

  void CheckScalar(const FieldDescriptor& field) {
    if (tokens_.IsClosing() || tokens_.Peek().kind == Token::Kind::kEnd ||
        (tokens_.StartsNextField() &&
         !tokens_.SameLine(name_, tokens_.Peek()))) {
      Problem(name_,
              absl::StrCat("'", field.name(), "' has no value: it takes ",
                           DescribeType(field)));
      return;
    }
    WrittenValue value;
    const Token first = tokens_.Peek();
    value.negative = tokens_.TryConsume('-');
    value.kind = tokens_.Peek().kind;
    value.text = tokens_.Text(tokens_.Peek());
    TextRange range = first.range;
    range.length =
        tokens_.Peek().range.begin + tokens_.Peek().range.length - range.begin;
    if (tokens_.IsOpening()) {
      Problem(first, *FindValueProblem(field, value));
      tokens_.SkipBracketed();
      return;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        value.kind != Token::Kind::kString) {
      tokens_.PassWord();
      const Token& last = tokens_.Peek();
      range.length = last.range.begin + last.range.length - range.begin;
      value = {false, value.kind, text_.substr(range.begin, range.length)};
    }
    if (std::optional<std::string> problem = FindValueProblem(field, value)) {
      Problem({value.kind, range}, *std::move(problem));
      if (value.kind == Token::Kind::kSymbol) return tokens_.SkipLine(first);
    }
    tokens_.Next();
    // Neighbouring strings are one.
    while (value.kind == Token::Kind::kString &&
           tokens_.Peek().kind == Token::Kind::kString) {
      value.text = tokens_.Text(tokens_.Peek());
      if (std::optional<std::string> problem = FindValueProblem(field, value)) {
        Problem(tokens_.Peek(), *std::move(problem));
      }
      tokens_.Next();
    }
  }

  absl::string_view text_;
  std::vector<TextProblem> unreadable_;  // found by the lexer
  CheckedText checked_;
  TokenStream tokens_;
  int depth_ = 0;
  Token name_;  // of the field whose value is being read
};

}  // namespace

std::string CheckedText::WithPresentNames(absl::string_view text,
                                          size_t begin) const {
  std::string present(text.substr(begin));
  for (auto it = present_names.rbegin(); it != present_names.rend(); ++it) {
    present.replace(it->first.begin - begin, it->first.length, it->second);
  }
  return present;
}

std::string Mention::Path() const { return JoinFieldPath(parent, name); }

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

}  // namespace regard
