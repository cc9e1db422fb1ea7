// Checks that every state mixer must pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_MIXER_CHECKS_H_
#define ATTENTION_CHECKS_MIXER_CHECKS_H_

#include <cstdint>
#include <vector>

#include "attention/checks/expectations.h"
#include "attention/state_mixer.h"
#include "google/protobuf/message.h"

namespace regard {

class MixerConfig;

struct MixerToCheck {
  const MixerRegistry& registry;
  const google::protobuf::Message& options;  // valid for `width`
  int64_t width;
};

// Returns the config that chooses a mixer by its options, in a member of the
// oneof or in an extension of OutsideMixer. If there is neither, the config
// chooses no mixer.
MixerConfig MixerConfigFor(const google::protobuf::Message& options);

struct MixerCheck {
  const char* name;  // "PaddingChangesNothing"
  void (*run)(const MixerToCheck& mixer, Expectations& expect);
};

std::vector<MixerCheck> MixerChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_MIXER_CHECKS_H_
