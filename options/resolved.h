// Writes a config out in full, with where each value came from.
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

// A text config that needs no base, one field a line:
//
//   seed: 3  # --set
//   model {  # configs/twenty_pairs.textproto:4
//     width: 32  # default
//   }
//
// In every message that is present, scalars that no text sets are written with
// their default; those without a default of their own stay unset and are shown
// in a comment, and so does an unset member of a oneof stay out. Reading the
// text gives `config` again, but for the presence of defaults. The bytes depend
// on `config` and on names as the user gave them, nothing else.
std::string ResolvedConfig(const google::protobuf::Message& config,
                           const ConfigOrigins& origins);

// The settings of a config by their paths as `--set` spells them:
// "model.encoder.hidden", or "path[0].to" within a list. Every scalar in force
// in a message that is present is one, defaults too. The member of a oneof is
// one under the oneof's name ("model.attention.score": "additive"), since it
// may have no fields. Enums are their names.
std::map<std::string, std::variant<double, bool, std::string>> ConfigSettings(
    const google::protobuf::Message& config);

struct ResolvedField {
  // As `--set` spells it, but for elements of lists, which come several times:
  // "model.attention.additive.width".
  std::string path = {};
  // As the file spells it; "{...}" for a message.
  std::string value = {};
  // What the comment after it says of where the value came from:
  // "configs/twenty_pairs.textproto:4", "--set" or "default".
  std::string origin = {};
};

// The fields that ResolvedConfig writes, in its order.
std::vector<ResolvedField> ResolvedFields(
    const google::protobuf::Message& config);

// The same from its text, so that runs with unknown messages can be compared.
// InvalidArgument, with the line, for another text.
absl::StatusOr<std::vector<ResolvedField>> ParseResolvedFields(
    absl::string_view text);

// The resolved config `text` with the values and origins that the resolved
// config `changed` has for the scalars at `paths`. Other lines stay as they
// are. Returns `changed` if one of the two is another text or lacks such a
// line.
std::string ReplaceResolvedFields(const std::string& text,
                                  const std::string& changed,
                                  const std::vector<std::string>& paths);

struct FieldDifference {
  std::string path = {};
  // "not set" where a config lacks the field; values of a list are joined.
  std::string before = {};
  std::string after = {};
};

// The paths whose values differ, sorted by path. A message that is in a list,
// or that one side lacks, is listed alone, with its fields as its value.
std::vector<FieldDifference> DiffResolvedFields(
    const std::vector<ResolvedField>& before,
    const std::vector<ResolvedField>& after);

// For each config, how many differences DiffResolvedFields finds between it and
// all others together; an element of a list of messages counts as if the list
// were longer than one. Time is about linear in the size of the configs.
std::vector<size_t> CountDifferences(
    const std::vector<std::vector<ResolvedField>>& configs);

// The scalar `field` of `message` as a config writes it, its default when
// absent; element `index` of a repeated one, else -1.
std::string PrintedValue(const google::protobuf::Message& message,
                         const google::protobuf::FieldDescriptor& field,
                         int index);

// The fields of `message` in the order of their declaration, then the
// extensions that are present, by number.
std::vector<const google::protobuf::FieldDescriptor*> FieldsAndExtensions(
    const google::protobuf::Message& message);

}  // namespace regard

#endif  // OPTIONS_RESOLVED_H_
