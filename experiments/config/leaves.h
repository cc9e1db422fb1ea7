// Lists the settings of a config one by one, as tables of runs want them.
#ifndef EXPERIMENTS_CONFIG_LEAVES_H_
#define EXPERIMENTS_CONFIG_LEAVES_H_

#include <string>
#include <variant>
#include <vector>

#include "google/protobuf/message.h"

namespace regard {

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

#endif  // EXPERIMENTS_CONFIG_LEAVES_H_
