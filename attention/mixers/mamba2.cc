// The scalar form of Mamba-2: a learned decay of the state for each position
// and head. All heads share queries and keys ("C" and "B"). Dao and Gu,
// "Transformers are SSMs", 2024.
#include <cstddef>
#include <cstdint>

#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class Mamba2 : public LinearAttention<T> {
 public:
  using Options = Mamba2Mixer;

  Mamba2(const Options& options, const MixerSetup<T>& setup)
      : LinearAttention<T>(FullOptions(options, setup.width), setup) {}

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() == before &&
        RequireHeadWidth("value_width", options.value_width(), 2 * width,
                         options.heads(), problems)) {
      LinearAttention<T>::Validate(FullOptions(options, width), width,
                                   problems);
    }
  }

 private:
  static LinearAttentionMixer FullOptions(const Options& options,
                                          int64_t width) {
    LinearAttentionMixer full;
    full.set_heads(options.heads());
    full.set_key_width(options.key_width());
    full.set_value_width(
        HeadWidth(options.value_width(), 2 * width, options.heads()));
    full.set_feature_map(LinearAttentionMixer::SILU);
    if (options.has_convolution()) {
      *full.mutable_convolution() = options.convolution();
      if (options.convolution().width() > 0) {
        full.set_feature_map(LinearAttentionMixer::IDENTITY);
      }
    }
    full.set_decay(LinearAttentionMixer::HEAD);
    full.set_step_size(true);
    full.set_skip(true);
    full.set_scale(false);
    full.set_key_heads(1);
    full.set_norm(LinearAttentionMixer::GATED_NORM);
    full.set_gate(true);
    full.set_bias(false);
    return full;
  }
};

REGARD_STATE_MIXER(Mamba2, "S = exp(-a d) S + d k v^T, o = S^T q + D v")

}  // namespace regard
