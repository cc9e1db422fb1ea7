// Says why a written value does not suit a field. Stricter than the text
// format: no octal, no infinity or NaN, nothing that overflows or vanishes, no
// numbers for enums or booleans, no invalid UTF-8.
#ifndef EXPERIMENTS_CONFIG_VALUE_CHECK_H_
#define EXPERIMENTS_CONFIG_VALUE_CHECK_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "experiments/config/token_stream.h"
#include "google/protobuf/descriptor.h"

namespace regard {

// A value of one token, perhaps with a minus sign before it.
struct WrittenValue {
  bool negative = false;
  Token::Kind kind = Token::Kind::kEnd;
  absl::string_view text;  // of the token
};

// What is wrong with `value` for the scalar or enum `field`; nothing when it
// fits.
std::optional<std::string> FindValueProblem(
    const google::protobuf::FieldDescriptor& field, const WrittenValue& value);

// What a field holds, with its article: "an integer", "a string in quotes".
std::string DescribeType(const google::protobuf::FieldDescriptor& field);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_VALUE_CHECK_H_
