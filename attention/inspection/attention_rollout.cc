#include "attention/inspection/attention_rollout.h"

#include <utility>

#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
std::vector<double> AttentionRollout(absl::Span<const AttentionMap<T>> layers,
                                     int64_t example) {
  REGARD_CHECK(!layers.empty()) << "rollout of no layers";
  const int64_t tokens = layers[0].shape[2];
  std::vector<double> rollout(static_cast<size_t>(tokens * tokens), 0);
  for (int64_t i = 0; i < tokens; ++i) rollout[i * tokens + i] = 1;
  for (const AttentionMap<T>& layer : layers) {
    REGARD_CHECK(layer.shape[2] == tokens && layer.shape[3] == tokens)
        << "self-attention " << layer.shape << " of " << tokens << " tokens";
    const int64_t heads = layer.shape[1];
    const T* const of_example =
        layer.weights.data() + example * heads * tokens * tokens;
    std::vector<double> next(rollout.size(), 0);
    for (int64_t row = 0; row < tokens; ++row) {
      for (int64_t key = 0; key < tokens; ++key) {
        double weight = row == key ? 0.5 : 0;
        for (int64_t head = 0; head < heads; ++head) {
          weight += 0.5 / static_cast<double>(heads) *
                    of_example[(head * tokens + row) * tokens + key];
        }
        for (int64_t i = 0; i < tokens; ++i) {
          next[row * tokens + i] += weight * rollout[key * tokens + i];
        }
      }
    }
    rollout = std::move(next);
  }
  return rollout;
}

REGARD_INSTANTIATE_FUNCTION(AttentionRollout);

}  // namespace regard
