// Retention: linear attention with a constant decay for each head and rotated
// queries and keys. Sun et al., "Retentive network: a successor to Transformer
// for large language models", 2023.
#include <cstddef>
#include <cstdint>

#include "attention/mixers/linear_attention.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "options/config_problems.h"

namespace regard {

template <typename T>
class Retention : public LinearAttention<T> {
 public:
  using Options = RetentionMixer;

  Retention(const Options& options, const MixerSetup<T>& setup)
      : LinearAttention<T>(FullOptions(options, setup.width), setup) {}

  static void Validate(const Options& options, const int64_t& width,
                       ConfigProblems& problems) {
    const size_t before = problems.problems().size();
    problems.CheckRanges(options);
    if (problems.problems().size() == before &&
        RequireHeadWidth("key_width", options.key_width(), width,
                         options.heads(), problems) &&
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
    full.set_key_width(HeadWidth(options.key_width(), width, options.heads()));
    full.set_value_width(
        HeadWidth(options.value_width(), 2 * width, options.heads()));
    full.set_feature_map(LinearAttentionMixer::IDENTITY);
    full.set_decay(LinearAttentionMixer::FIXED);
    full.set_rotary(true);
    full.set_norm(LinearAttentionMixer::HEAD_NORM);
    full.set_gate(true);
    full.set_bias(false);
    if (options.has_convolution()) {
      *full.mutable_convolution() = options.convolution();
    }
    return full;
  }
};

REGARD_STATE_MIXER(Retention, "S = (1 - 2^(-5 - h)) S + k v^T, o = S^T q")

}  // namespace regard
