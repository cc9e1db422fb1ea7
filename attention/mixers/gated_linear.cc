// Gated linear attention: a learned decay of the state for each position and
// channel of the keys. Yang et al., "Gated linear attention transformers with
// hardware-efficient training", 2024.
#include <cstddef>
#include <cstdint>

#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class GatedLinear : public LinearAttention<T> {
 public:
  using Options = GatedLinearMixer;

  GatedLinear(const Options& options, const MixerSetup<T>& setup)
      : LinearAttention<T>(FullOptions(options, setup.width), setup) {}

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() == before &&
        RequireHeadWidth("key_width", options.key_width(), width / 2,
                         options.heads(), problems) &&
        RequireHeadWidth("value_width", options.value_width(), width,
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
    full.set_key_width(
        HeadWidth(options.key_width(), width / 2, options.heads()));
    full.set_value_width(
        HeadWidth(options.value_width(), width, options.heads()));
    full.set_feature_map(LinearAttentionMixer::IDENTITY);
    full.set_decay(LinearAttentionMixer::CHANNEL);
    full.set_norm(LinearAttentionMixer::HEAD_NORM);
    full.set_gate(true);
    full.set_bias(false);
    if (options.has_convolution()) {
      *full.mutable_convolution() = options.convolution();
    }
    return full;
  }
};

REGARD_STATE_MIXER(GatedLinear,
                   "S = diag(sigmoid(W x)^(1/16)) S + k v^T, o = S^T q")

}  // namespace regard
