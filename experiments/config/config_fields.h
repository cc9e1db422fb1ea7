// Prints one scalar of a message as a text config writes it.
#ifndef EXPERIMENTS_CONFIG_CONFIG_FIELDS_H_
#define EXPERIMENTS_CONFIG_CONFIG_FIELDS_H_

#include <string>
#include <variant>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace regard {

// The scalar `field` of `message`, its default when absent; element `index` of
// a repeated one, else -1. Reads back as the same value.
std::string PrintedValue(const google::protobuf::Message& message,
                         const google::protobuf::FieldDescriptor& field,
                         int index);

// The fields of `message` in the order of their declaration, then the
// extensions that are present, by number.
std::vector<const google::protobuf::FieldDescriptor*> FieldsAndExtensions(
    const google::protobuf::Message& message);

// `rate`, or `[lab.my_score]`.
std::string FieldName(const google::protobuf::FieldDescriptor& field);

// Lists the settings of a config one by one, as tables of runs want them.

struct ConfigLeaf {
  // As `--set` spells it: "model.encoder.hidden"; "path[0].to" within a list.
  std::string path;
  std::variant<double, bool, std::string> value;
};

// Every scalar in force, in the order of declaration: defaults too, in messages
// that are present. The member that a oneof holds is a leaf of its own under
// the oneof's name, "model.attention.score": "additive", since it may have no
// fields. Enums are their names.
std::vector<ConfigLeaf> ConfigLeaves(const google::protobuf::Message& config);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_CONFIG_FIELDS_H_
