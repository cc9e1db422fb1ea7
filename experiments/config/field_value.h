// Reads written values as fields hold them. Stricter than the text format: no
// octal, no infinity or NaN, nothing that overflows or vanishes, no numbers for
// enums or booleans, no invalid UTF-8.
#ifndef EXPERIMENTS_CONFIG_FIELD_VALUE_H_
#define EXPERIMENTS_CONFIG_FIELD_VALUE_H_

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

// What is wrong if `written` does not suit the scalar or enum `field`.
std::optional<std::string> FindValueProblem(
    const google::protobuf::FieldDescriptor& field,
    const WrittenValue& written);

// Sets `field` of `message` to the value that `text` writes, which has no
// problem; strings in a row are one. Of a repeated field, the element `index`,
// which may be the one after the last.
void StoreFieldValue(absl::string_view text,
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
