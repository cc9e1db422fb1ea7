// Applies a `path=value` argument, as `--set` gives it, to a config.
#ifndef EXPERIMENTS_CONFIG_OVERRIDE_H_
#define EXPERIMENTS_CONFIG_OVERRIDE_H_

#include <string>
#include <vector>

#include "experiments/config/config_text.h"
#include "experiments/config/origins.h"
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
// oneof clears the others. Notes in `origins` what it sets. After a problem
// `message` is unspecified.
std::vector<TextProblem> ApplyOverride(const std::string& argument,
                                       google::protobuf::Message* message,
                                       ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_OVERRIDE_H_
