// Kimi delta attention: the delta rule with a learned decay of the state for
// each position and channel of the keys. Kimi team, "Kimi linear: an
// expressive, efficient attention architecture", 2025 (arXiv:2510.26692).
#include <cstdint>

#include "attention/mixers/delta.h"
#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class Kda : public DeltaPresetBase<T, KdaMixer, Kda<T>> {
 public:
  using Options = KdaMixer;
  using DeltaPresetBase<T, KdaMixer, Kda<T>>::DeltaPresetBase;

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
    full.set_decay(DeltaMixer::CHANNEL);
    full.set_gate(DeltaMixer::NARROW_SIGMOID_GATE);
    return full;
  }
};

REGARD_STATE_MIXER(Kda,
                   "S = (I - b k k^T) diag(exp(-a d)) S + b k v^T, o = S^T q")

}  // namespace regard
