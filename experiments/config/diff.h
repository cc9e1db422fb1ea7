// Says where two configs differ.
#ifndef EXPERIMENTS_CONFIG_DIFF_H_
#define EXPERIMENTS_CONFIG_DIFF_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace regard {

struct ConfigDifference {
  std::string path;
  // As text; "not set" for what is absent, "{...}" for a message. Long values
  // are cut.
  std::string before;
  std::string after;
};

// The fields that differ between two messages of one type, in the order of
// their declaration. An absent scalar equals one that is set to the default
// that its field declares, so a config equals its resolved form. A message
// that only one has is one difference.
std::vector<ConfigDifference> DiffConfigs(
    const google::protobuf::Message& before,
    const google::protobuf::Message& after);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_DIFF_H_
