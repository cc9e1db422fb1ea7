// Prints one scalar of a message as a text config writes it.
#ifndef EXPERIMENTS_CONFIG_PRINTED_VALUE_H_
#define EXPERIMENTS_CONFIG_PRINTED_VALUE_H_

#include <string>
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

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_PRINTED_VALUE_H_
