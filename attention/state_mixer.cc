#include "attention/state_mixer.h"

#include "attention/mixers/mixer.pb.h"

namespace regard {

MixerRegistry::MixerRegistry()
    : PluginRegistry("mixer", "linear_attention { heads: 4 }") {}

bool HasStateMixer(const MixerConfig& config) {
  return config.mixer_case() != MixerConfig::MIXER_NOT_SET &&
         config.mixer_case() != MixerConfig::kAttention;
}

}  // namespace regard
