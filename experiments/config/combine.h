// Lays one config over another.
#ifndef EXPERIMENTS_CONFIG_COMBINE_H_
#define EXPERIMENTS_CONFIG_COMBINE_H_

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace regard {

// Everything present in `overlay` goes over `message`, of the same type:
// scalars replace, messages combine field by field, repeated fields replace as
// a whole, and a member of a oneof clears the others.
void Combine(const google::protobuf::Message& overlay,
             google::protobuf::Message* message);

// Empties the repeated field at `path`, whose messages on the way are singular
// (`model.layers`, `outside.[lab.my_score].widths`), where it is present.
void ClearList(absl::string_view path, google::protobuf::Message* message);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_COMBINE_H_
