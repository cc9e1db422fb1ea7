// The fields of messages: found by the names that text configs use, and set to
// values as they are written there.
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

// The field or known extension ("[full.name]") of `message` called `name`; null
// when there is none.
const google::protobuf::FieldDescriptor* FindField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// The field of `message` whose (former_name) is `name`, see
// options/config_options.proto; null when there is none.
const google::protobuf::FieldDescriptor* FindRenamedField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// `rate`, or `[lab.my_score]`.
std::string FieldName(const google::protobuf::FieldDescriptor& field);

// "no field 'optimzer' in Training; did you mean 'optimizer'?"
std::string NoSuchField(const google::protobuf::Descriptor& message,
                        absl::string_view name);

// Joins by a dot; either may be empty.
std::string JoinFieldPath(absl::string_view parent, absl::string_view name);

// Whether `path` is that of a field, or of something in it.
bool IsWithin(absl::string_view path, absl::string_view field);

// One field on a path such as `model.layers[1].heads`.
struct PathStep {
  std::string name;          // `layers`, `[lab.my_score]`
  std::optional<int> index;  // of an element
  TextRange range;           // of name and index in the path
};

// The steps of a well-formed `path`; a malformed one ends in a step whose name
// is no field's (it may be empty). An index beyond the largest int is that.
std::vector<PathStep> SplitPath(absl::string_view path);

// Reads written values as fields hold them. Stricter than the text format: no
// octal, no infinity or NaN, nothing that overflows or vanishes, no numbers for
// enums or booleans, no invalid UTF-8.

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

// Lays `part` over `whole`, of one type, as files are over their base: what
// `part` sets replaces, lists as a whole, and messages combine.
void LayOver(const google::protobuf::Message& part,
             google::protobuf::Message* whole);

// What a field holds, with its article: "an integer", "a string in quotes".
std::string DescribeType(const google::protobuf::FieldDescriptor& field);

}  // namespace regard

#endif  // OPTIONS_CONFIG_FIELDS_H_
