// Checks that every state mixer has to pass. The generated tests of mixers run
// them.
#ifndef ATTENTION_CHECKS_MIXER_CHECKS_H_
#define ATTENTION_CHECKS_MIXER_CHECKS_H_

#include <cstdint>
#include <vector>

#include "attention/checks/expectations.h"
#include "attention/state_mixer.h"
#include "google/protobuf/message.h"

namespace regard {

class MixerConfig;

struct CheckedMixer {
  const MixerRegistry& registry;
  const google::protobuf::Message& options;  // valid ones for `width`
  int64_t width;
};

// The config that chooses a mixer by its options: a member of the oneof, or an
// extension of OutsideMixer. No mixer is chosen if there is none.
MixerConfig MixerConfigFor(const google::protobuf::Message& options);

struct MixerCheck {
  const char* name;  // "PaddingChangesNothing"
  void (*run)(const CheckedMixer& mixer, Expectations& expect);
};

std::vector<MixerCheck> MixerChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_MIXER_CHECKS_H_
