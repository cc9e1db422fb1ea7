// Writes a config in full, with the origin of each value, and compares configs.
#ifndef OPTIONS_RESOLVED_H_
#define OPTIONS_RESOLVED_H_

#include <cstddef>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "options/reader.h"

namespace regard {

// Returns a text config without a base, with one field per line:
//
//   seed: 3  # --set
//   model {  # configs/twenty_pairs.textproto:4
//     width: 32  # default
//   }
//
// Scalars that no text sets have their default, in each message that is
// present. Scalars without a default are shown in a comment. An unset member of
// a oneof is left out. Reading the text gives `config` again, but with all
// defaults set. The bytes depend only on `config` and on file names as the user
// gave them.
std::string ResolvedConfig(const google::protobuf::Message& config,
                           const ConfigOrigins& origins);

// Returns the settings of a config by their paths, as for `--set`:
// "model.encoder.hidden", or "path[0].to" in a list. Settings are all scalars
// with a value, including defaults, in messages that are present. The choice of
// a oneof is also a setting, because the chosen message may have no fields. Its
// path is the name of the oneof ("model.attention.score": "additive"). Enum
// values are given by name.
std::map<std::string, std::variant<double, bool, std::string>> ConfigSettings(
    const google::protobuf::Message& config);

struct ResolvedField {
  // The path, as for `--set`, but without indices:
  // "model.attention.additive.width". Elements of a list therefore have the
  // same path.
  std::string path = {};
  // The value as in the file, or "{...}" for a message.
  std::string value = {};
  // The origin, from the comment after the value:
  // "configs/twenty_pairs.textproto:4", "--set" or "default".
  std::string origin = {};
};

// Returns the fields in the output of ResolvedConfig(), in the same order.
std::vector<ResolvedField> ResolvedFields(
    const google::protobuf::Message& config);

// Parses the output of ResolvedConfig(). Works for unknown messages, so that
// any two runs can be compared. Returns InvalidArgument, with the line, for any
// other text.
absl::StatusOr<std::vector<ResolvedField>> ParseResolvedFields(
    absl::string_view text);

// Returns the resolved config `text`, in which the scalars at `paths` have the
// values and origins of the resolved config `changed`. Other lines do not
// change. Returns `changed` if either text is not a resolved config or lacks
// one of the paths.
std::string ReplaceResolvedFields(const std::string& text,
                                  const std::string& changed,
                                  const std::vector<std::string>& paths);

struct FieldDifference {
  std::string path = {};
  // The values in both configs. "not set" if a config lacks the field. The
  // values of a list are joined.
  std::string before = {};
  std::string after = {};
};

// Returns the paths with different values, sorted by path. A list of several
// messages, or a message that one side lacks, counts as one difference. The
// value of such a difference shows all fields of the messages.
std::vector<FieldDifference> DiffResolvedFields(
    const std::vector<ResolvedField>& before,
    const std::vector<ResolvedField>& after);

// Returns, for each config, the total number of fields that differ from the
// other configs, as DiffResolvedFields() counts them. If a list of messages has
// several elements in one config, it counts as one field in all configs. The
// time is about linear in the size of the configs.
std::vector<size_t> CountDifferences(
    const std::vector<std::vector<ResolvedField>>& configs);

// Returns the scalar `field` of `message` as in a config, or its default if the
// field is absent. `index` is the index of an element in a repeated field, and
// -1 for other fields.
std::string PrintedValue(const google::protobuf::Message& message,
                         const google::protobuf::FieldDescriptor& field,
                         int index);

// Returns the fields of `message` in the order of declaration, then the present
// extensions by number.
std::vector<const google::protobuf::FieldDescriptor*> FieldsAndExtensions(
    const google::protobuf::Message& message);

}  // namespace regard

#endif  // OPTIONS_RESOLVED_H_
