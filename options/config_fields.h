// Finds and sets fields of proto messages by the names and values in text
// configs.
#ifndef OPTIONS_CONFIG_FIELDS_H_
#define OPTIONS_CONFIG_FIELDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "options/config_text.h"

namespace regard {

// Returns the field or known extension ("[full.name]") of `message` with this
// name, or null if it does not exist.
const google::protobuf::FieldDescriptor* FindField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// Returns the field of `message` whose (former_name) is `name`, or null if no
// field has this (former_name). See options/config_options.proto.
const google::protobuf::FieldDescriptor* FindRenamedField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// Returns the name of a field as in a config: `rate` or `[lab.my_score]`.
std::string FieldName(const google::protobuf::FieldDescriptor& field);

// Returns an error message, such as "no field 'optimzer' in Training; did you
// mean 'optimizer'?".
std::string NoSuchFieldMessage(const google::protobuf::Descriptor& message,
                               absl::string_view name);

// Joins two paths with a dot. Either path may be empty.
std::string JoinFieldPath(absl::string_view parent, absl::string_view name);

// Whether `path` is `field`, or is the path of a field or element inside
// `field`.
bool IsWithin(absl::string_view path, absl::string_view field);

// One step of a path such as `model.layers[1].heads`.
struct PathStep {
  std::string name;          // `layers`, `[lab.my_score]`
  std::optional<int> index;  // index of an element
  TextRange range;           // name and index in the path
};

// Splits a path into steps. If the path is malformed, the name of the last step
// is not a field and may be empty. An index above the largest int becomes the
// largest int.
std::vector<PathStep> SplitPath(absl::string_view path);

// The functions below read values in the syntax of a config. They are stricter
// than protobuf's text format. They reject octal numbers, infinity, NaN,
// numbers that overflow or become 0, numbers in place of enums or booleans, and
// invalid UTF-8.

// A value that consists of one token, with an optional minus sign.
struct ScalarValueToken {
  bool negative = false;
  Token::Kind kind = Token::Kind::kEnd;
  absl::string_view text;  // text of the token
};

// Returns an error message if `written` is not valid for the scalar or enum
// `field`.
std::optional<std::string> FindValueProblem(
    const google::protobuf::FieldDescriptor& field,
    const ScalarValueToken& written);

// Sets `field` of `message` to the value in `text`, which must be valid.
// Successive strings are concatenated. For a repeated field, sets the element
// `index`, which may be one past the end.
void StoreFieldValue(absl::string_view text,
                     const google::protobuf::FieldDescriptor& field,
                     std::optional<int> index,
                     google::protobuf::Message* message);

// Returns the message in `field` of `message`, and creates it if necessary. For
// a repeated field, returns the element `index`, which may be one past the end.
google::protobuf::Message* MutableField(
    const google::protobuf::FieldDescriptor& field, std::optional<int> index,
    google::protobuf::Message* message);

// Merges `part` into `whole`, a message of the same type, as a config is merged
// into its base. Scalars and lists in `part` replace the values in `whole`.
// Messages are merged field by field.
void MergeInto(const google::protobuf::Message& part,
               google::protobuf::Message* whole);

// Returns a description of the values of a field, such as "an integer" or "a
// string in quotes".
std::string DescribeType(const google::protobuf::FieldDescriptor& field);

}  // namespace regard

#endif  // OPTIONS_CONFIG_FIELDS_H_
