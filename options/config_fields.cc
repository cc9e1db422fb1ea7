#include "options/config_fields.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "files/utf8.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "options/config_options.pb.h"
#include "options/name_suggestion.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;
using ::google::protobuf::Reflection;
using ::google::protobuf::io::Tokenizer;

// The maximum length of a field name. Protobuf's search for an extension takes
// quadratic time in the number of dots: minutes for a name of a megabyte.
constexpr size_t kLongestName = 256;

PathStep ReadStep(absl::string_view step, size_t begin) {
  const TextRange range{begin, step.size()};
  // A bracket at the start belongs to the name of an extension, not to an
  // index.
  const size_t bracket = std::min(step.find('[', 1), step.size());
  absl::string_view digits = step.substr(bracket);
  const bool is_index =
      absl::ConsumePrefix(&digits, "[") && absl::ConsumeSuffix(&digits, "]") &&
      !digits.empty() &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (!is_index) return {std::string(step), std::nullopt, range};
  int index = 0;
  const bool fits = absl::SimpleAtoi(digits, &index);
  return {std::string(step.substr(0, bracket)),
          fits ? index : std::numeric_limits<int>::max(), range};
}

bool IsReal(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

std::string Quoted(const ScalarValueToken& value) {
  return QuotedToken(value.kind,
                     absl::StrCat(value.negative ? "-" : "", value.text));
}

std::string Expected(const FieldDescriptor& field,
                     const ScalarValueToken& value) {
  return absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                      ", got ", Quoted(value));
}

std::optional<std::string> FindIntegerProblem(const FieldDescriptor& field,
                                              const ScalarValueToken& written) {
  const auto type = field.cpp_type();
  const int bits = type == FieldDescriptor::CPPTYPE_INT32 ||
                           type == FieldDescriptor::CPPTYPE_UINT32
                       ? 32
                       : 64;
  const bool is_signed = type == FieldDescriptor::CPPTYPE_INT32 ||
                         type == FieldDescriptor::CPPTYPE_INT64;
  if (written.negative && !is_signed) {
    return absl::StrCat("'", field.name(), "' cannot be negative, got ",
                        Quoted(written));
  }
  // The largest magnitude of a number of this type and sign.
  uint64_t largest = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (is_signed) largest = largest / 2 + uint64_t{written.negative};
  uint64_t magnitude;
  if (Tokenizer::ParseInteger(std::string(written.text), largest, &magnitude)) {
    return std::nullopt;
  }
  return absl::StrCat(Quoted(written), " is outside ", field.type_name(), ", ",
                      written.negative ? "at least -" : "at most ", largest);
}

std::optional<std::string> FindRealProblem(const FieldDescriptor& field,
                                           const ScalarValueToken& written) {
  const std::string word = absl::AsciiStrToLower(written.text);
  if (absl::StartsWith(word, "0x")) {
    return absl::StrCat(Quoted(written), " must be written in decimal");
  }
  const absl::string_view digits = absl::StripSuffix(word, "f");
  double number = 0;
  const bool read = absl::SimpleAtod(digits, &number);
  const bool is_float = field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
  const double largest = is_float ? std::numeric_limits<float>::max()
                                  : std::numeric_limits<double>::max();
  if (!read || !(std::abs(number) <= largest)) {
    return absl::StrCat(Quoted(written), " is too large for a ",
                        field.type_name());
  }
  const bool is_zero = is_float ? static_cast<float>(number) == 0 : number == 0;
  const absl::string_view mantissa = digits.substr(0, digits.find('e'));
  if (is_zero && mantissa.find_first_not_of("0.") != absl::string_view::npos) {
    return absl::StrCat(Quoted(written), " is too small for a ",
                        field.type_name(), " and would be 0");
  }
  return std::nullopt;
}

std::optional<std::string> FindNumberProblem(const FieldDescriptor& field,
                                             const ScalarValueToken& written) {
  const bool is_real = IsReal(field);
  const std::string word = absl::AsciiStrToLower(written.text);
  if (is_real && (word == "inf" || word == "infinity" || word == "nan")) {
    return absl::StrCat("'", field.name(), "' must be a finite number, got ",
                        Quoted(written));
  }
  if (written.kind != Token::Kind::kInteger &&
      !(is_real && written.kind == Token::Kind::kFloat)) {
    return Expected(field, written);
  }
  if (word.size() > 1 && word[0] == '0' && absl::ascii_isdigit(word[1])) {
    return absl::StrCat(Quoted(written),
                        " begins with 0, which would make it octal");
  }
  return is_real ? FindRealProblem(field, written)
                 : FindIntegerProblem(field, written);
}

std::optional<std::string> FindEnumProblem(const FieldDescriptor& field,
                                           const ScalarValueToken& written) {
  const EnumDescriptor& type = *field.enum_type();
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string name(type.value(i)->name());
    // The unspecified value of an enum is not a valid choice.
    if (absl::EndsWith(name, "_UNSPECIFIED")) continue;
    if (!written.negative && written.text == name) return std::nullopt;
    names.push_back(name);
  }
  return absl::StrCat(Quoted(written), " is not a value of ", type.name(),
                      SuggestName(written.text, names));
}

// Clears each list in `whole` that is set in `part`, including lists in nested
// messages.
void ClearLists(const Message& part, Message* whole) {
  const Reflection& fields = *whole->GetReflection();
  std::vector<const FieldDescriptor*> given;
  fields.ListFields(part, &given);
  for (const FieldDescriptor* field : given) {
    if (field->is_repeated()) {
      fields.ClearField(whole, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               fields.HasField(*whole, field)) {
      ClearLists(fields.GetMessage(part, field),
                 fields.MutableMessage(whole, field));
    }
  }
}

}  // namespace

const FieldDescriptor* FindField(const Descriptor& message,
                                 absl::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  if (name.empty() || name[0] != '[') {
    return message.FindFieldByName(std::string(name));
  }
  if (name.size() < 2) return nullptr;
  return message.file()->pool()->FindExtensionByPrintableName(
      &message, std::string(name.substr(1, name.size() - 2)));
}

const FieldDescriptor* FindRenamedField(const Descriptor& message,
                                        absl::string_view name) {
  for (int i = 0; i < message.field_count(); ++i) {
    const auto& options = message.field(i)->options();
    if (!name.empty() && options.GetExtension(former_name) == name) {
      return message.field(i);
    }
  }
  return nullptr;
}

std::string FieldName(const FieldDescriptor& field) {
  if (!field.is_extension()) return field.name();
  return absl::StrCat("[", field.full_name(), "]");
}

std::string NoSuchFieldMessage(const Descriptor& message,
                               absl::string_view name) {
  const std::string shown = Printable(name);
  if (const FieldDescriptor* const renamed = FindRenamedField(message, name)) {
    return absl::StrCat("'", shown, "' was renamed to '", renamed->name(), "'");
  }
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
      candidates.push_back(FieldName(*extension));
    }
    std::sort(candidates.begin(), candidates.end());
    const std::string suggestion = SuggestName(name, candidates);
    return absl::StrCat(
        "no extension '", shown, "' of ", message.name(), " is linked in",
        suggestion.empty() ? "; add its target to the program's regard_binary()"
                           : suggestion);
  }
  for (int i = 0; i < message.field_count(); ++i) {
    candidates.push_back(message.field(i)->name());
  }
  return absl::StrCat("no field '", shown, "' in ", message.name(),
                      SuggestName(name, candidates));
}

std::string JoinFieldPath(absl::string_view parent, absl::string_view name) {
  return absl::StrCat(parent, parent.empty() || name.empty() ? "" : ".", name);
}

bool IsWithin(absl::string_view path, absl::string_view field) {
  return absl::ConsumePrefix(&path, field) &&
         (path.empty() || path[0] == '.' || path[0] == '[');
}

std::vector<PathStep> SplitPath(absl::string_view path) {
  std::vector<PathStep> steps;
  size_t begin = 0;
  bool in_brackets = false;
  for (size_t i = 0; i <= path.size(); ++i) {
    const char c = i < path.size() ? path[i] : '\0';
    if (c == '[' || c == ']') in_brackets = c == '[';
    if (i < path.size() && (c != '.' || in_brackets)) continue;
    steps.push_back(ReadStep(path.substr(begin, i - begin), begin));
    begin = i + 1;
  }
  return steps;
}

std::optional<std::string> FindValueProblem(const FieldDescriptor& field,
                                            const ScalarValueToken& written) {
  if (written.kind == Token::Kind::kBad) return std::nullopt;
  bool suits = false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return FindEnumProblem(field, written);
    case FieldDescriptor::CPPTYPE_BOOL:
      suits = written.text == "true" || written.text == "false";
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      suits = written.kind == Token::Kind::kString;
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
    default:
      return FindNumberProblem(field, written);
  }
  if (!suits || written.negative) return Expected(field, written);
  std::string unescaped;
  Tokenizer::ParseString(std::string(written.text), &unescaped);
  if (field.type() == FieldDescriptor::TYPE_STRING &&
      FindInvalidUtf8(unescaped).has_value()) {
    return absl::StrCat("the value of '", field.name(), "' is not valid UTF-8");
  }
  return std::nullopt;
}

void StoreFieldValue(absl::string_view text, const FieldDescriptor& field,
                     std::optional<int> index, Message* message) {
  REGARD_CHECK(google::protobuf::TextFormat::ParseFieldValueFromString(
      std::string(text), &field, message))
      << text;
  if (!field.is_repeated()) return;
  // The parser has appended the value as the last element. Moves it to the
  // index and removes the element that it replaces.
  const Reflection& fields = *message->GetReflection();
  const int last = fields.FieldSize(*message, &field) - 1;
  if (*index == last) return;
  fields.SwapElements(message, &field, *index, last);
  fields.RemoveLast(message, &field);
}

Message* MutableField(const FieldDescriptor& field, std::optional<int> index,
                      Message* message) {
  const Reflection& fields = *message->GetReflection();
  if (!field.is_repeated()) return fields.MutableMessage(message, &field);
  if (*index == fields.FieldSize(*message, &field)) {
    return fields.AddMessage(message, &field);
  }
  return fields.MutableRepeatedMessage(message, &field, *index);
}

void MergeInto(const Message& part, Message* whole) {
  ClearLists(part, whole);
  whole->MergeFrom(part);
}

std::string DescribeType(const FieldDescriptor& field) {
  if (IsReal(field)) return "a number";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("a value of ", field.enum_type()->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string in quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat("fields in braces (", field.message_type()->name(),
                          ")");
    default:
      return "an integer";
  }
}

}  // namespace regard
