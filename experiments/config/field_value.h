// Reads written values as fields hold them. Stricter than the text format: no
// octal, no infinity or NaN, nothing that overflows or vanishes, no numbers for
// enums or booleans, no invalid UTF-8.
#ifndef EXPERIMENTS_CONFIG_FIELD_VALUE_H_
#define EXPERIMENTS_CONFIG_FIELD_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "experiments/config/token_stream.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace regard {

// A value of one token, perhaps with a minus sign before it.
struct WrittenValue {
  bool negative = false;
  Token::Kind kind = Token::Kind::kEnd;
  absl::string_view text;  // of the token
};

// A value of a scalar or enum field: the member that its type needs is set.
struct FieldValue {
  // An integer in two's complement, a boolean, or the number of an enum value.
  uint64_t integer = 0;
  double real = 0;
  std::string text = {};
};

// Reads `written` into `value`; a string is appended to its text. Returns what
// is wrong if it does not suit the scalar or enum `field`.
std::optional<std::string> ReadFieldValue(
    const google::protobuf::FieldDescriptor& field, const WrittenValue& written,
    FieldValue* value);

// Sets `field` of `message`; of a repeated field, the element `index`, which
// may be the one after the last.
void StoreFieldValue(const FieldValue& value,
                     const google::protobuf::FieldDescriptor& field,
                     std::optional<int> index,
                     google::protobuf::Message* message);

// The message that `field` of `message` holds, made if need be; of a repeated
// field, the element `index`, which may be the one after the last.
google::protobuf::Message* MutableField(
    const google::protobuf::FieldDescriptor& field, std::optional<int> index,
    google::protobuf::Message* message);

// What a field holds, with its article: "an integer", "a string in quotes".
std::string DescribeType(const google::protobuf::FieldDescriptor& field);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_FIELD_VALUE_H_
