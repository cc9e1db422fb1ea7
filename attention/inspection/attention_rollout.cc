#include "attention/inspection/attention_rollout.h"

#include <utility>

#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The matrix (A + I) / 2, where A is the attention of one example, averaged
// over heads.
template <typename T>
class Mixing {
 public:
  Mixing(const AttentionMap<T>& layer, int64_t example, int64_t tokens)
      : tokens_(tokens),
        heads_(layer.shape[1]),
        weights_(layer.weights.data() + example * heads_ * tokens * tokens) {
    REGARD_CHECK(layer.shape[2] == tokens && layer.shape[3] == tokens)
        << "self-attention " << layer.shape << " of " << tokens << " tokens";
  }

  double operator()(int64_t row, int64_t key) const {
    double weight = row == key ? 0.5 : 0;
    for (int64_t head = 0; head < heads_; ++head) {
      weight += 0.5 / static_cast<double>(heads_) *
                weights_[(head * tokens_ + row) * tokens_ + key];
    }
    return weight;
  }

 private:
  const int64_t tokens_;
  const int64_t heads_;
  const T* const weights_;
};

template <typename T>
int64_t SequenceLength(absl::Span<const AttentionMap<T>> layers) {
  REGARD_CHECK(!layers.empty()) << "rollout of no layers";
  return layers[0].shape[2];
}

}  // namespace

template <typename T>
std::vector<double> AttentionRollout(absl::Span<const AttentionMap<T>> layers,
                                     int64_t example) {
  const int64_t tokens = SequenceLength(layers);
  std::vector<double> rollout(static_cast<size_t>(tokens * tokens), 0);
  for (int64_t i = 0; i < tokens; ++i) rollout[i * tokens + i] = 1;
  for (const AttentionMap<T>& layer : layers) {
    const Mixing<T> mixing(layer, example, tokens);
    std::vector<double> next(rollout.size(), 0);
    for (int64_t row = 0; row < tokens; ++row) {
      for (int64_t key = 0; key < tokens; ++key) {
        const double weight = mixing(row, key);
        for (int64_t i = 0; i < tokens; ++i) {
          next[row * tokens + i] += weight * rollout[key * tokens + i];
        }
      }
    }
    rollout = std::move(next);
  }
  return rollout;
}

template <typename T>
std::vector<double> AttentionRolloutTo(std::vector<double> readout,
                                       absl::Span<const AttentionMap<T>> layers,
                                       int64_t example) {
  const int64_t tokens = SequenceLength(layers);
  REGARD_CHECK_EQ(static_cast<int64_t>(readout.size()), tokens);
  for (size_t layer = layers.size(); layer-- > 0;) {
    const Mixing<T> mixing(layers[layer], example, tokens);
    std::vector<double> next(readout.size(), 0);
    for (int64_t row = 0; row < tokens; ++row) {
      if (readout[row] == 0) continue;
      for (int64_t key = 0; key < tokens; ++key) {
        next[key] += readout[row] * mixing(row, key);
      }
    }
    readout = std::move(next);
  }
  return readout;
}

REGARD_INSTANTIATE_FUNCTION(AttentionRollout);
REGARD_INSTANTIATE_FUNCTION(AttentionRolloutTo);

}  // namespace regard
