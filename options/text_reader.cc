// Reads a text or a `path=value` argument in one pass. Finds all problems with
// their positions, and records where each field is set.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "options/config_fields.h"
#include "options/config_text.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;

// A message in the text. `assignments` has the first assignment of each field
// or oneof, by full name.
struct Body {
  Message* message;
  std::string path;
  std::map<std::string, AssignedField> assignments = {};
};

class TextReader {
 public:
  TextReader(absl::string_view text, size_t begin, ConfigOrigins* origins,
             bool takes_former_names = false)
      : text_(text),
        tokens_(text, begin, &unreadable_),
        origins_(*origins),
        takes_former_names_(takes_former_names) {}

  std::vector<TextProblem> ReadAll(Message* config) {
    if (text_.empty()) return {{{0, 1}, "the config is empty"}};
    ReadBody({config, ""}, std::nullopt);
    return TakeProblems();
  }

  std::vector<TextProblem> ReadOnly(const AssignedField& assignment,
                                    Message* message) {
    Begin(assignment, message);
    const Token first = tokens_.Peek();
    const FieldDescriptor& field = *assignment.field;
    // Reports an override such as `attention=dot {}` with a hint, because `dot`
    // is not a value.
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        first.kind == Token::Kind::kIdentifier) {
      const absl::string_view fields = text_.substr(first.range.begin);
      const bool bare = fields.size() == first.range.length;
      return {{first.range,
               absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                            "; write {", Printable(fields),
                            bare ? " {...}" : "", "}")}};
    }
    ReadValue(assignment, message);
    if (!AtEnd() && !IsFull()) {
      Problem(tokens_.Peek(), absl::StrCat("nothing may follow the value, got ",
                                           Quoted(tokens_.Peek())));
    }
    return TakeProblems();
  }

 private:
  bool AtEnd() const { return tokens_.Peek().kind == Token::Kind::kEnd; }

  bool IsFull() const { return problems_.size() >= kMaxProblems; }

  std::string Quoted(const Token& token) const {
    return QuotedToken(token.kind, tokens_.Text(token));
  }

  // Adds a problem, unless the lexer has already reported a problem of the
  // token.
  void Problem(const Token& token, std::string message) {
    if (token.kind == Token::Kind::kBad) return;
    problems_.push_back({token.range, std::move(message)});
  }

  static Token NameOf(const AssignedField& assignment) {
    return {Token::Kind::kIdentifier, assignment.range};
  }

  std::vector<TextProblem> TakeProblems() {
    problems_.insert(problems_.end(), unreadable_.begin(), unreadable_.end());
    std::ranges::stable_sort(problems_, {}, [](const TextProblem& problem) {
      return problem.range.begin;
    });
    if (problems_.size() > kMaxProblems) problems_.resize(kMaxProblems);
    return std::move(problems_);
  }

  // Records the first assignment of a field in a body. Clears the old value if
  // the assignment replaces it.
  void Begin(const AssignedField& assignment, Message* message) {
    origins_.RecordOrigin(assignment);
    if (!assignment.replaces()) return;
    message->GetReflection()->ClearField(message, assignment.field);
  }

  void ReadField(Body* body) {
    const Token first = tokens_.Peek();
    const std::optional<Token> name = tokens_.ConsumeName();
    if (!name.has_value()) {
      Problem(first, absl::StrCat("expected the name of a field, got ",
                                  Quoted(first)));
      if (tokens_.Peek().range.begin == first.range.begin) tokens_.Next();
      tokens_.SkipToNextFieldLine(first);
      return;
    }
    std::string written(tokens_.Text(*name));
    written.erase(
        std::remove_if(written.begin(), written.end(), absl::ascii_isspace),
        written.end());
    const auto& type = *body->message->GetDescriptor();
    const FieldDescriptor* field = FindField(type, written);
    if (field == nullptr && takes_former_names_) {
      field = FindRenamedField(type, written);
    }
    if (field == nullptr) {
      Problem(*name, NoSuchFieldMessage(type, written));
      tokens_.SkipToNextFieldLine(*name);
      return;
    }
    const OneofDescriptor* oneof = field->real_containing_oneof();
    const AssignedField assignment{body->path, field, std::nullopt,
                                   name->range};
    const auto [before, is_new] = body->assignments.emplace(
        oneof == nullptr ? field->full_name() : oneof->full_name(), assignment);
    if (is_new) {
      Begin(assignment, body->message);
    } else if (!field->is_repeated()) {
      SetTwice(before->second, assignment);
    }
    if (!ConsumeColon(*field, *name)) return;
    ReadValue(assignment, body->message);
    tokens_.TryConsumeAnyOf(",;");
  }

  void SetTwice(const AssignedField& before, const AssignedField& now) {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + before.range.begin, '\n');
    Problem(NameOf(now),
            before.field == now.field
                ? absl::StrCat("'", now.field->name(),
                               "' is set twice; first on line ", line)
                : absl::StrCat(
                      "'", now.field->name(), "' and '", before.field->name(),
                      "' (line ", line, ") cannot both be set: only one ",
                      now.field->containing_oneof()->name(), " can be set"));
  }

  // Reads the colon after a name. Messages do not need a colon.
  bool ConsumeColon(const FieldDescriptor& field, const Token& name) {
    if (tokens_.TryConsumeAnyOf(":")) return true;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return true;
    if (tokens_.IsAtAnyOf("{<")) return true;  // ReadValue() reports it
    Problem(name, absl::StrCat("expected ':' and ", DescribeType(field),
                               " after '", field.name(), "'"));
    tokens_.SkipToNextFieldLine(name);
    return false;
  }

  // Reads the value after the colon. For a list, reads one element, or several
  // elements in brackets.
  void ReadValue(const AssignedField& assignment, Message* message) {
    if (!assignment.is_list()) return ReadOne(assignment, message);
    const Token opening = tokens_.Peek();
    if (!tokens_.TryConsumeAnyOf("[")) return AddElement(assignment, message);
    while (!IsFull() && !tokens_.IsAtAnyOf("]")) {
      if (AtEnd()) {
        Problem(opening, "this '[' has no closing bracket");
        return;
      }
      AddElement(assignment, message);
      if (tokens_.IsAtAnyOf("]")) break;
      if (!tokens_.TryConsumeAnyOf(",") && !AtEnd()) {
        Problem(tokens_.Peek(), absl::StrCat("expected ',' or ']', got ",
                                             Quoted(tokens_.Peek())));
        tokens_.SkipToNextFieldLine(tokens_.Peek());
        return;
      }
      if (tokens_.IsAtAnyOf("]")) {
        Problem(tokens_.Peek(), "expected a value after ','");
      }
    }
    tokens_.TryConsumeAnyOf("]");
  }

  void AddElement(const AssignedField& list, Message* message) {
    AssignedField element = list;
    element.index = message->GetReflection()->FieldSize(*message, list.field);
    origins_.RecordOrigin(element);
    ReadOne(element, message);
  }

  void ReadOne(const AssignedField& assignment, Message* message) {
    const FieldDescriptor& field = *assignment.field;
    const Token first = tokens_.Peek();
    const bool is_message =
        field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (tokens_.IsAtAnyOf("}>]") || AtEnd() ||
        (tokens_.IsAtFieldStart() &&
         (is_message || !tokens_.AreOnSameLine(NameOf(assignment), first)))) {
      Problem(NameOf(assignment),
              absl::StrCat("'", field.name(), "' has no value: it takes ",
                           DescribeType(field)));
    } else if (is_message && tokens_.IsAtAnyOf("{<")) {
      ReadMessage(assignment, message);
    } else {
      ReadScalar(assignment, message);
    }
  }

  // Returns whether the value at `place` is valid. Adds a problem if the value
  // is not valid.
  bool Suits(const FieldDescriptor& field, const ScalarValueToken& written,
             const Token& place) {
    std::optional<std::string> problem = FindValueProblem(field, written);
    if (problem.has_value()) Problem(place, *problem);
    return !problem.has_value();
  }

  void ReadMessage(const AssignedField& assignment, Message* message) {
    const Token opening = tokens_.Peek();
    if (depth_ == kDeepestNesting) {
      Problem(opening, absl::StrCat("messages can be nested at most ",
                                    kDeepestNesting, " levels"));
      tokens_.SkipBracketed();
      return;
    }
    tokens_.Next();
    ++depth_;
    ReadBody({MutableField(*assignment.field, assignment.index, message),
              assignment.Path()},
             opening);
    --depth_;
  }

  // Reads fields up to the bracket that closes `opening`, or up to the end of
  // the text if `opening` is nullopt.
  void ReadBody(Body body, const std::optional<Token>& opening) {
    absl::string_view closing;
    if (opening.has_value()) {
      closing = tokens_.IsAnyOf(*opening, "{") ? "}" : ">";
    }
    while (!IsFull() && !tokens_.TryConsumeAnyOf(closing)) {
      if (AtEnd()) {
        if (!opening.has_value()) return;
        return Problem(*opening, absl::StrCat("this '", tokens_.Text(*opening),
                                              "' has no closing bracket"));
      }
      if (!tokens_.IsAtAnyOf("}>")) {
        ReadField(&body);
        continue;
      }
      const Token wrong = tokens_.Next();
      if (opening.has_value()) {
        return Problem(wrong, absl::StrCat("expected '", closing, "', got ",
                                           Quoted(wrong)));
      }
      Problem(wrong, "there is no open message to close");
    }
  }

  void ReadScalar(const AssignedField& assignment, Message* message) {
    const FieldDescriptor& field = *assignment.field;
    const Token first = tokens_.Peek();
    ScalarValueToken written{tokens_.TryConsumeAnyOf("-"), tokens_.Peek().kind,
                             tokens_.Text(tokens_.Peek())};
    const Token::Kind kind = written.kind;
    if (tokens_.IsAtAnyOf("{<[")) {
      Suits(field, written, first);
      return tokens_.SkipBracketed();
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
        kind != Token::Kind::kString) {
      tokens_.SkipToLastAdjacentToken();
      written = {false, kind, TextFrom(first)};
    }
    bool good = kind != Token::Kind::kBad;
    absl::string_view value;
    Token place{kind, {first.range.begin, TextFrom(first).size()}};
    // Successive strings are concatenated.
    do {
      if (!Suits(field, written, place)) {
        good = false;
        if (kind == Token::Kind::kSymbol) {
          return tokens_.SkipToNextFieldLine(first);
        }
      }
      value = TextFrom(first);
      tokens_.Next();
      place = tokens_.Peek();
      written.text = tokens_.Text(place);
    } while (kind == Token::Kind::kString && place.kind == kind);
    if (good) StoreFieldValue(value, field, assignment.index, message);
  }

  // Returns the text from the start of `first` to the end of the next token.
  absl::string_view TextFrom(const Token& first) const {
    const TextRange& last = tokens_.Peek().range;
    return text_.substr(first.range.begin,
                        last.begin + last.length - first.range.begin);
  }

  absl::string_view text_;
  std::vector<TextProblem> unreadable_;  // problems of the lexer
  std::vector<TextProblem> problems_;
  TokenStream tokens_;
  ConfigOrigins& origins_;
  const bool takes_former_names_;
  int depth_ = 0;
};

// Sets `message` to the message that `assignment` selects. Returns an error
// message if `assignment` selects a scalar, or a list of several messages
// without an index. An existing message keeps its origin, because only a field
// in it changes.
std::optional<std::string> Enter(AssignedField* assignment, Message** message,
                                 ConfigOrigins* origins) {
  const FieldDescriptor* field = assignment->field;
  const auto& fields = *(*message)->GetReflection();
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::StrCat("'", field->name(), "' takes ", DescribeType(*field),
                        " and has no fields");
  }
  bool is_there = !field->is_repeated() && fields.HasField(**message, field);
  if (field->is_repeated()) {
    const int size = fields.FieldSize(**message, field);
    if (!assignment->index.has_value() && size > 1) {
      return absl::StrCat("'", field->name(), "' has ", size,
                          " elements: write ", FieldName(*field),
                          "[0] for the first");
    }
    assignment->index = assignment->index.value_or(0);
    is_there = *assignment->index < size;
  }
  if (!is_there) origins->RecordOrigin(*assignment);
  *message = MutableField(*field, assignment->index, *message);
  assignment->parent = assignment->Path();
  return std::nullopt;
}

std::optional<std::string> FindStepProblem(const FieldDescriptor* field,
                                           const PathStep& step,
                                           const Message& message) {
  if (field == nullptr) {
    return NoSuchFieldMessage(*message.GetDescriptor(), step.name);
  }
  if (!step.index.has_value()) return std::nullopt;
  if (!field->is_repeated()) {
    return absl::StrCat("'", field->name(), "' is not repeated");
  }
  const int size = message.GetReflection()->FieldSize(message, field);
  if (*step.index < size) return std::nullopt;
  return absl::StrCat("'", field->name(), "' has ", size,
                      size == 1 ? " element" : " elements", ", counted from 0");
}

// Whether a string value has no quotes, as in `data.path=fra.txt`.
bool IsBare(const AssignedField& assignment, absl::string_view value) {
  if (assignment.field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return false;
  }
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(value);
  if (start.empty()) return true;
  return start[0] != '"' && start[0] != '\'' &&
         !(assignment.field->is_repeated() && start[0] == '[');
}

std::vector<TextProblem> ReadOverride(const std::string& argument,
                                      Message* message,
                                      ConfigOrigins* origins) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos) {
    return {{{0, argument.size()}, "expected path=value"}};
  }
  AssignedField assignment;
  for (const PathStep& step : SplitPath(argument.substr(0, equals))) {
    std::optional<std::string> problem;
    if (assignment.field != nullptr) {
      problem = Enter(&assignment, &message, origins);
      if (problem.has_value()) return {{assignment.range, *problem}};
    }
    assignment.field = FindField(*message->GetDescriptor(), step.name);
    assignment.index = step.index;
    assignment.range = step.range;
    problem = FindStepProblem(assignment.field, step, *message);
    if (problem.has_value()) return {{step.range, *problem}};
  }
  const std::string value = argument.substr(equals + 1);
  if (IsBare(assignment, value)) {
    return TextReader(absl::StrCat("\"", absl::CEscape(value), "\""), 0,
                      origins)
        .ReadOnly(assignment, message);
  }
  return TextReader(argument, equals + 1, origins)
      .ReadOnly(assignment, message);
}

std::vector<TextProblem> FindProblems(const ConfigTextWithOrigin& text,
                                      Message* config, ConfigOrigins* origins) {
  if (const std::optional<TextProblem> problem =
          FindEncodingProblem(text.text())) {
    return {*problem};
  }
  if (text.is_override()) return ReadOverride(text.text(), config, origins);
  return TextReader(text.text(), 0, origins, IsRunConfig(text.name()))
      .ReadAll(config);
}

}  // namespace

absl::Status ReadText(ConfigTextWithOrigin added, Message* config,
                      ConfigOrigins* origins) {
  origins->Add(std::move(added));
  const ConfigTextWithOrigin& text = origins->texts().back();
  std::vector<std::string> lines;
  for (const TextProblem& problem : FindProblems(text, config, origins)) {
    lines.push_back(text.Diagnostic(problem));
  }
  if (lines.empty()) return absl::OkStatus();
  if (lines.size() == kMaxProblems) {
    lines.push_back(absl::StrCat(Printable(text.name(), kNameCharacters),
                                 ": the first ", kMaxProblems,
                                 " problems are shown"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace regard
