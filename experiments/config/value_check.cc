#include "experiments/config/value_check.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "experiments/config/config_text.h"
#include "experiments/config/field_names.h"
#include "files/utf8.h"
#include "google/protobuf/io/tokenizer.h"

namespace regard {
namespace {

using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;

constexpr int kQuotedCharacters = 40;

std::string Quoted(const WrittenValue& value) {
  switch (value.kind) {
    case Token::Kind::kEnd:
      return "the end of the text";
    case Token::Kind::kString:
      return Printable(value.text, kQuotedCharacters);
    default:
      return absl::StrCat("'", value.negative ? "-" : "",
                          Printable(value.text, kQuotedCharacters), "'");
  }
}

std::string Expected(const FieldDescriptor& field, const WrittenValue& value) {
  return absl::StrCat("'", field.name(), "' takes ", DescribeType(field),
                      ", got ", Quoted(value));
}

bool IsZeroLed(const WrittenValue& value) {
  return value.text.size() > 1 && value.text[0] == '0' &&
         absl::ascii_isdigit(value.text[1]);
}

std::string ZeroLed(const WrittenValue& value) {
  return absl::StrCat(Quoted(value),
                      " begins with 0, which would make it octal");
}

// The largest magnitude that the integer `field` holds on that side of zero.
uint64_t LargestMagnitude(const FieldDescriptor& field, bool negative) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::numeric_limits<int32_t>::max() + uint64_t{negative};
    case FieldDescriptor::CPPTYPE_INT64:
      return std::numeric_limits<int64_t>::max() + uint64_t{negative};
    case FieldDescriptor::CPPTYPE_UINT32:
      return negative ? 0 : std::numeric_limits<uint32_t>::max();
    default:
      return negative ? 0 : std::numeric_limits<uint64_t>::max();
  }
}

std::optional<std::string> FindIntegerProblem(const FieldDescriptor& field,
                                              const WrittenValue& value) {
  if (value.kind != Token::Kind::kInteger) return Expected(field, value);
  if (IsZeroLed(value)) return ZeroLed(value);
  const uint64_t largest = LargestMagnitude(field, value.negative);
  if (value.negative && largest == 0) {
    return absl::StrCat("'", field.name(), "' cannot be negative, got ",
                        Quoted(value));
  }
  uint64_t magnitude = 0;
  if (google::protobuf::io::Tokenizer::ParseInteger(std::string(value.text),
                                                    largest, &magnitude)) {
    return std::nullopt;
  }
  return absl::StrCat(Quoted(value), " is outside ", field.type_name(), ", ",
                      value.negative ? "at least -" : "at most ", largest);
}

std::optional<std::string> FindFloatProblem(const FieldDescriptor& field,
                                            const WrittenValue& value) {
  const std::string word = absl::AsciiStrToLower(value.text);
  if (word == "inf" || word == "infinity" || word == "nan") {
    return absl::StrCat("'", field.name(), "' must be a finite number, got ",
                        Quoted(value));
  }
  if (value.kind != Token::Kind::kInteger &&
      value.kind != Token::Kind::kFloat) {
    return Expected(field, value);
  }
  if (value.kind == Token::Kind::kInteger && IsZeroLed(value)) {
    return ZeroLed(value);
  }
  if (absl::StartsWith(word, "0x")) {
    return absl::StrCat(Quoted(value), " must be written in decimal");
  }
  const absl::string_view digits = absl::StripSuffix(word, "f");
  double number = 0;
  const bool read = absl::SimpleAtod(digits, &number);
  const bool is_float = field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
  const double largest = is_float ? std::numeric_limits<float>::max()
                                  : std::numeric_limits<double>::max();
  if (!read || !(std::abs(number) <= largest)) {
    return absl::StrCat(Quoted(value), " is too large for a ",
                        field.type_name());
  }
  const bool is_zero = is_float ? static_cast<float>(number) == 0 : number == 0;
  const absl::string_view mantissa = digits.substr(0, digits.find('e'));
  if (is_zero && mantissa.find_first_not_of("0.") != absl::string_view::npos) {
    return absl::StrCat(Quoted(value), " is too small for a ",
                        field.type_name(), " and would be 0");
  }
  return std::nullopt;
}

std::optional<std::string> FindEnumProblem(const FieldDescriptor& field,
                                           const WrittenValue& value) {
  const EnumDescriptor& type = *field.enum_type();
  if (!value.negative && value.kind == Token::Kind::kIdentifier &&
      type.FindValueByName(std::string(value.text)) != nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return absl::StrCat(Quoted(value), " is no value of ", type.name(),
                      SuggestName(value.text, names));
}

std::optional<std::string> FindStringProblem(const FieldDescriptor& field,
                                             const WrittenValue& value) {
  if (value.negative || value.kind != Token::Kind::kString) {
    return Expected(field, value);
  }
  if (field.type() == FieldDescriptor::TYPE_BYTES) return std::nullopt;
  std::string unescaped;
  google::protobuf::io::Tokenizer::ParseString(std::string(value.text),
                                               &unescaped);
  if (!FindInvalidUtf8(unescaped).has_value()) return std::nullopt;
  return absl::StrCat("the value of '", field.name(), "' is not valid UTF-8");
}

}  // namespace

std::optional<std::string> FindValueProblem(const FieldDescriptor& field,
                                            const WrittenValue& value) {
  if (value.kind == Token::Kind::kBad) return std::nullopt;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return FindIntegerProblem(field, value);
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FindFloatProblem(field, value);
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!value.negative && (value.text == "true" || value.text == "false")) {
        return std::nullopt;
      }
      return Expected(field, value);
    case FieldDescriptor::CPPTYPE_ENUM:
      return FindEnumProblem(field, value);
    case FieldDescriptor::CPPTYPE_STRING:
      return FindStringProblem(field, value);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Expected(field, value);
  }
  return std::nullopt;
}

std::string DescribeType(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return "an integer";
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("a value of ", field.enum_type()->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string in quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return absl::StrCat("fields in braces (", field.message_type()->name(),
                          ")");
  }
  return "";
}

}  // namespace regard
