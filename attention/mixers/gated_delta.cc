// Gated DeltaNet: the delta rule with a learned decay of the state for each
// position and head. Yang et al., "Gated delta networks: improving Mamba2 with
// delta rule", 2025 (arXiv:2412.06464).
#include <cstdint>

#include "attention/mixers/delta.h"
#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class GatedDelta : public DeltaPresetBase<T, GatedDeltaMixer, GatedDelta<T>> {
 public:
  using Options = GatedDeltaMixer;
  using DeltaPresetBase<T, GatedDeltaMixer, GatedDelta<T>>::DeltaPresetBase;

  static bool ValidateWidths(const Options& options, int64_t width,
                             ConfigProblems& problems) {
    return RequireHeadWidth("key_width", options.key_width(), 3 * width / 4,
                            options.heads(), problems) &&
           RequireHeadWidth("value_width", options.value_width(), 3 * width / 2,
                            options.heads(), problems);
  }

  static DeltaMixer FullOptions(const Options& options, int64_t width) {
    DeltaMixer full;
    full.set_key_width(
        HeadWidth(options.key_width(), 3 * width / 4, options.heads()));
    full.set_value_width(
        HeadWidth(options.value_width(), 3 * width / 2, options.heads()));
    full.set_decay(DeltaMixer::HEAD);
    full.set_gate(DeltaMixer::SILU_GATE);
    return full;
  }
};

REGARD_STATE_MIXER(GatedDelta,
                   "S = exp(-a d) (I - b k k^T) S + b k v^T, o = S^T q")

}  // namespace regard
