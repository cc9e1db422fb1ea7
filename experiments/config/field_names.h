// Finds the fields of a message by the names that text configs use.
#ifndef EXPERIMENTS_CONFIG_FIELD_NAMES_H_
#define EXPERIMENTS_CONFIG_FIELD_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace regard {

// The field or known extension of `message` called `name`, an extension being
// "[full.name]"; null when there is none.
const google::protobuf::FieldDescriptor* FindField(
    const google::protobuf::Descriptor& message, absl::string_view name);

// "no field 'optimzer' in Training; did you mean 'optimizer'?"
std::string NoSuchField(const google::protobuf::Descriptor& message,
                        absl::string_view name);

// Joins by a dot; either may be empty.
std::string JoinFieldPath(absl::string_view parent, absl::string_view name);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_FIELD_NAMES_H_
