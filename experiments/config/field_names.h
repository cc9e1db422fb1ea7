// Finds the fields of a message by the names that text configs use.
#ifndef EXPERIMENTS_CONFIG_FIELD_NAMES_H_
#define EXPERIMENTS_CONFIG_FIELD_NAMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/config/config_text.h"
#include "google/protobuf/descriptor.h"

namespace regard {

// The field or known extension of `message` called `name`, now or formerly (see
// nn/config_options.proto), an extension being "[full.name]"; null when there
// is none.
const google::protobuf::FieldDescriptor* FindField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// `rate`, or `[lab.my_score]`.
std::string FieldName(const google::protobuf::FieldDescriptor& field);

// "no field 'optimzer' in Training; did you mean 'optimizer'?"
std::string NoSuchField(const google::protobuf::Descriptor& message,
                        absl::string_view name);

// Joins by a dot; either may be empty.
std::string JoinFieldPath(absl::string_view parent, absl::string_view name);

// Paths of fields: `model.layers[1].heads`, `outside.[lab.my_score].width`.

// One field on a path.
struct PathStep {
  std::string name;          // `layers`, `[lab.my_score]`
  std::optional<int> index;  // of an element
  TextRange range;           // of name and index in the path
};

// The steps of a well-formed `path`; a malformed one ends in a step whose name
// is no field's (it may be empty). An index beyond the largest int is that.
std::vector<PathStep> SplitPath(absl::string_view path);

// Finds what a misspelt name was meant to be.

// Insertions, deletions, substitutions and swaps of neighbours that turn `a`
// into `b` (optimal string alignment). Costs |a| |b|.
int EditDistance(absl::string_view a, absl::string_view b);

// "; did you mean 'optimizer'?" for the candidate nearest to `name`, letter
// case aside, or that ends in _`name`. When none is near, "; it can be ..."
// with all candidates if they are few, else "".
std::string SuggestName(absl::string_view name,
                        absl::Span<const std::string> candidates);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_FIELD_NAMES_H_
