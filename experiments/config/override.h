// Applies `path=value` arguments, as `--set` gives them, to a config.
#ifndef EXPERIMENTS_CONFIG_OVERRIDE_H_
#define EXPERIMENTS_CONFIG_OVERRIDE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "experiments/config/text_checker.h"
#include "google/protobuf/message.h"

namespace regard {

// Sets one field of `message`. The path leads through messages, which come
// into being as needed, and elements that exist; a list of at most one element
// needs no index:
//
//   model.layers[1].heads=8        layers={heads: 4}        sizes=[8, 16]
//   model.outside.[lab.my_score].width=8                    data.path=fra.txt
//
// The value is written as in a file; a string may go without its quotes. A
// message combines with what is there, a list replaces it, and a member of a
// oneof clears the others. After a problem `message` is in between.
CheckedText ApplyOverride(const std::string& argument,
                          google::protobuf::Message* message);

// Lays one config over another.

// Everything present in `overlay` goes over `message`, of the same type:
// scalars replace, messages combine field by field, repeated fields replace as
// a whole, and a member of a oneof clears the others.
void Combine(const google::protobuf::Message& overlay,
             google::protobuf::Message* message);

// Empties the repeated field at `path`, whose messages on the way are singular
// (`model.layers`, `outside.[lab.my_score].widths`), where it is present.
void ClearList(absl::string_view path, google::protobuf::Message* message);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_OVERRIDE_H_
