// DeltaNet: the delta rule without a decay. Yang et al., "Parallelizing linear
// transformers with the delta rule over sequence length", 2024
// (arXiv:2406.06484).
#include <cstdint>

#include "attention/mixers/delta.h"
#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class DeltaNet : public DeltaPresetBase<T, DeltaNetMixer, DeltaNet<T>> {
 public:
  using Options = DeltaNetMixer;
  using DeltaPresetBase<T, DeltaNetMixer, DeltaNet<T>>::DeltaPresetBase;

  static bool ValidateWidths(const Options& options, int64_t width,
                             ConfigProblems& problems) {
    return RequireHeadWidth("key_width", options.key_width(), width,
                            options.heads(), problems) &&
           RequireHeadWidth("value_width", options.value_width(), width,
                            options.heads(), problems);
  }

  static DeltaMixer FullOptions(const Options& options, int64_t width) {
    DeltaMixer full;
    full.set_key_width(HeadWidth(options.key_width(), width, options.heads()));
    full.set_value_width(
        HeadWidth(options.value_width(), width, options.heads()));
    return full;
  }
};

REGARD_STATE_MIXER(DeltaNet, "S = (I - b k k^T) S + b k v^T, o = S^T q")

}  // namespace regard
