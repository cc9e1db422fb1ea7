// Checks that every score map must pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_SCORE_MAP_CHECKS_H_
#define ATTENTION_CHECKS_SCORE_MAP_CHECKS_H_

#include <vector>

#include "attention/checks/expectations.h"
#include "attention/score_map.h"
#include "google/protobuf/message.h"

namespace regard {

struct ScoreMapToCheck {
  const ScoreMapRegistry& registry;
  const ScoreMapInfo& info;  // registered in `registry`
  const google::protobuf::Message& options;
  // Whether a layer with these options is plain attention, up to rounding.
  bool is_plain;
};

struct ScoreMapCheck {
  const char* name;  // "KeepsWhatIsHidden"
  void (*run)(const ScoreMapToCheck& map, Expectations& expect);
};

// All checks. They use maps with two heads.
std::vector<ScoreMapCheck> ScoreMapChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_SCORE_MAP_CHECKS_H_
