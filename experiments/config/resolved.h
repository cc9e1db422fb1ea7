// Writes a config out in full, with where each value came from.
#ifndef EXPERIMENTS_CONFIG_RESOLVED_H_
#define EXPERIMENTS_CONFIG_RESOLVED_H_

#include <string>

#include "experiments/config/origins.h"
#include "google/protobuf/message.h"

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

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_RESOLVED_H_
