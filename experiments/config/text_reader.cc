#include "experiments/config/text_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "experiments/config/field_names.h"
#include "experiments/config/field_value.h"
#include "experiments/config/token_stream.h"
#include "google/protobuf/descriptor.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;

constexpr int kQuotedCharacters = 40;

// A message, and what one body of the text has set in it so far.
struct Body {
  Message* message;
  std::string path;
  std::map<const FieldDescriptor*, size_t> places = {};
  std::map<const OneofDescriptor*, const FieldDescriptor*> chosen = {};
};

// A recursive descent over the tokens of one text.
class TextReader {
 public:
  TextReader(absl::string_view text, size_t begin, ConfigOrigins* origins)
      : text_(text), tokens_(text, begin, &unreadable_), origins_(*origins) {}

  std::vector<TextProblem> ReadAll(Message* config) {
    Body body{config, ""};
    while (!IsFull() && !AtEnd()) {
      if (tokens_.IsSymbol('}') || tokens_.IsSymbol('>')) {
        Problem(tokens_.Next(), "there is no open message to close");
      } else {
        ReadField(&body);
      }
    }
    return TakeProblems();
  }

  std::vector<TextProblem> ReadOnly(const FieldAssignment& assignment,
                                    Message* message) {
    Begin(assignment, message);
    if (assignment.is_list()) {
      ReadList(assignment, message);
    } else {
      ReadOne(assignment, message);
    }
    if (!AtEnd() && !IsFull()) {
      Problem(tokens_.Peek(), absl::StrCat("nothing may follow the value, got ",
                                           Quoted(tokens_.Peek())));
    }
    return TakeProblems();
  }

 private:
  bool AtEnd() const { return tokens_.Peek().kind == Token::Kind::kEnd; }

  bool IsFull() const { return problems_.size() >= kMostProblems; }

  std::string Quoted(const Token& token) const {
    if (token.kind == Token::Kind::kEnd) return "the end of the text";
    return absl::StrCat("'", Printable(tokens_.Text(token), kQuotedCharacters),
                        "'");
  }

  // What the lexer could not read is reported already.
  void Problem(const Token& token, std::string message) {
    if (token.kind == Token::Kind::kBad) return;
    problems_.push_back({token.range, std::move(message)});
  }

  static Token NameOf(const FieldAssignment& assignment) {
    return {Token::Kind::kIdentifier, assignment.range};
  }

  std::vector<TextProblem> TakeProblems() {
    problems_.insert(problems_.end(), unreadable_.begin(), unreadable_.end());
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const TextProblem& a, const TextProblem& b) {
                       return a.range.begin < b.range.begin;
                     });
    if (problems_.size() > kMostProblems) problems_.resize(kMostProblems);
    return std::move(problems_);
  }

  // A list is new at its first assignment in a body.
  void Begin(const FieldAssignment& assignment, Message* message) {
    origins_.Note(assignment);
    if (!assignment.is_list()) return;
    message->GetReflection()->ClearField(message, assignment.field);
  }

  void ReadField(Body* body) {
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
    const auto& type = *body->message->GetDescriptor();
    const FieldDescriptor* field = FindField(type, written);
    if (field == nullptr) {
      Problem(*name, NoSuchField(type, written));
      tokens_.SkipValue();
      return;
    }
    const FieldAssignment assignment{body->path, field, std::nullopt,
                                     name->range};
    const auto [place, is_new] = body->places.emplace(field, name->range.begin);
    if (!field->is_repeated()) {
      CheckSetOnce(*field, is_new, place->second, *name, body);
    }
    if (is_new) Begin(assignment, body->message);
    if (!ConsumeColon(*field, *name)) return;
    if (field->is_repeated()) {
      ReadList(assignment, body->message);
    } else {
      ReadOne(assignment, body->message);
    }
    tokens_.SkipSeparator();
  }

  void CheckSetOnce(const FieldDescriptor& field, bool is_new, size_t place,
                    const Token& name, Body* body) {
    if (!is_new) {
      Problem(name, absl::StrCat("'", field.name(), "' is set twice; first ",
                                 "on line ", LineOf(place)));
      return;
    }
    const OneofDescriptor* oneof = field.real_containing_oneof();
    if (oneof == nullptr) return;
    const auto [other, is_first] = body->chosen.emplace(oneof, &field);
    if (is_first) return;
    Problem(name, absl::StrCat("'", field.name(), "' excludes '",
                               other->second->name(), "', set on line ",
                               LineOf(body->places[other->second]),
                               ": only one ", oneof->name(), " can be"));
  }

  int LineOf(size_t offset) const {
    return 1 + static_cast<int>(
                   std::count(text_.begin(), text_.begin() + offset, '\n'));
  }

  // Messages need no colon.
  bool ConsumeColon(const FieldDescriptor& field, const Token& name) {
    if (tokens_.TryConsume(':')) return true;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return true;
    if (tokens_.IsOpening() && !tokens_.IsSymbol('['))
      return true;  // reported as its value
    Problem(name, absl::StrCat("expected ':' and ", DescribeType(field),
                               " after '", field.name(), "'"));
    if (tokens_.SameLine(name, tokens_.Peek()) && !tokens_.StartsNextField())
      tokens_.SkipScalar();
    return false;
  }

  // One element, or several in brackets.
  void ReadList(const FieldAssignment& list, Message* message) {
    const Token opening = tokens_.Peek();
    if (!tokens_.TryConsume('[')) return AddElement(list, message);
    while (!IsFull() && !tokens_.IsSymbol(']')) {
      if (AtEnd()) {
        Problem(opening, "this '[' is never closed");
        return;
      }
      AddElement(list, message);
      if (tokens_.IsSymbol(']')) break;
      if (!tokens_.TryConsume(',') && !AtEnd()) {
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

  void AddElement(const FieldAssignment& list, Message* message) {
    const FieldDescriptor* field = list.field;
    const int size = message->GetReflection()->FieldSize(*message, field);
    const FieldAssignment element{list.parent, field, size, list.range};
    origins_.Note(element);
    ReadOne(element, message);
  }

  // One value, after its colon.
  void ReadOne(const FieldAssignment& assignment, Message* message) {
    if (assignment.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ReadMessage(assignment, message);
    } else {
      ReadScalar(assignment, message);
    }
  }

  void ReadMessage(const FieldAssignment& assignment, Message* message) {
    const FieldDescriptor* field = assignment.field;
    const Token opening = tokens_.Peek();
    if (!tokens_.IsSymbol('{') && !tokens_.IsSymbol('<')) {
      const bool missing =
          tokens_.StartsNextField() || tokens_.IsClosing() || AtEnd();
      Problem(missing ? NameOf(assignment) : opening,
              absl::StrCat("'", field->name(), "' takes ", DescribeType(*field),
                           missing ? "" : ", got ",
                           missing ? "" : Quoted(opening)));
      if (!missing) tokens_.SkipScalar();
      return;
    }
    if (depth_ == kDeepestNesting) {
      Problem(opening, absl::StrCat("messages are nested deeper than ",
                                    kDeepestNesting));
      tokens_.SkipBracketed();
      return;
    }
    tokens_.Next();
    ++depth_;
    ReadBody(
        {MutableField(*field, assignment.index, message), assignment.Path()},
        opening);
    --depth_;
  }

  void ReadBody(Body body, const Token& opening) {
    const char closing = tokens_.Is(opening, '{') ? '}' : '>';
    while (!IsFull() && !tokens_.TryConsume(closing)) {
      if (AtEnd()) {
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
      ReadField(&body);
    }
  }

  void ReadScalar(const FieldAssignment& assignment, Message* message) {
    const FieldDescriptor& field = *assignment.field;
    const Token first = tokens_.Peek();
    if (tokens_.IsClosing() || AtEnd() ||
        (tokens_.StartsNextField() &&
         !tokens_.SameLine(NameOf(assignment), first))) {
      Problem(NameOf(assignment),
              absl::StrCat("'", field.name(), "' has no value: it takes ",
                           DescribeType(field)));
      return;
    }
    FieldValue value;
    WrittenValue written;
    written.negative = tokens_.TryConsume('-');
    written.kind = tokens_.Peek().kind;
    written.text = tokens_.Text(tokens_.Peek());
    if (tokens_.IsOpening()) {
      Problem(first, *ReadFieldValue(field, written, &value));
      tokens_.SkipBracketed();
      return;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        written.kind != Token::Kind::kString) {
      tokens_.PassWord();
      written = {false, written.kind, TextFrom(first)};
    }
    const Token whole{written.kind,
                      {first.range.begin, TextFrom(first).size()}};
    bool good = written.kind != Token::Kind::kBad;
    if (std::optional<std::string> problem =
            ReadFieldValue(field, written, &value)) {
      good = false;
      Problem(whole, *std::move(problem));
      if (written.kind == Token::Kind::kSymbol) return tokens_.SkipLine(first);
    }
    tokens_.Next();
    // Neighbouring strings are one.
    while (written.kind == Token::Kind::kString &&
           tokens_.Peek().kind == Token::Kind::kString) {
      written.text = tokens_.Text(tokens_.Peek());
      if (std::optional<std::string> problem =
              ReadFieldValue(field, written, &value)) {
        good = false;
        Problem(tokens_.Peek(), *std::move(problem));
      }
      tokens_.Next();
    }
    if (good) StoreFieldValue(value, field, assignment.index, message);
  }

  // From the beginning of `first` to the end of the next token.
  absl::string_view TextFrom(const Token& first) const {
    const TextRange& last = tokens_.Peek().range;
    return text_.substr(first.range.begin,
                        last.begin + last.length - first.range.begin);
  }

  absl::string_view text_;
  std::vector<TextProblem> unreadable_;  // found by the lexer
  std::vector<TextProblem> problems_;
  TokenStream tokens_;
  ConfigOrigins& origins_;
  int depth_ = 0;
};

}  // namespace

std::vector<TextProblem> ReadText(absl::string_view text, Message* config,
                                  ConfigOrigins* origins) {
  return TextReader(text, 0, origins).ReadAll(config);
}

std::vector<TextProblem> ReadValue(absl::string_view text, size_t begin,
                                   const FieldAssignment& assignment,
                                   Message* message, ConfigOrigins* origins) {
  return TextReader(text, begin, origins).ReadOnly(assignment, message);
}

}  // namespace regard
