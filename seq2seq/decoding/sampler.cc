#include "seq2seq/decoding/sampler.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {

Sampler::Sampler(const SamplingConfig& config, int64_t vocabulary, Arena& arena)
    : temperature_(config.temperature()),
      top_k_(config.top_k()),
      top_p_(config.top_p()),
      min_p_(static_cast<float>(config.min_p())),
      vocabulary_(vocabulary),
      ids_(arena.New<int32_t>(vocabulary)),
      weights_(arena.New<float>(vocabulary)) {}

// Fills weights_ and ids_. Returns the end of the ids that may be drawn.
int32_t* Sampler::ComputeWeights(const float* logits,
                                 absl::Span<const int32_t> excluded) {
  std::copy_n(logits, vocabulary_, weights_);
  for (const int32_t id : excluded) {
    if (id >= 0 && id < vocabulary_) {
      weights_[id] = -std::numeric_limits<float>::infinity();
    }
  }
  const float max = MaxRow(weights_, vocabulary_);
  const auto scale = static_cast<float>(1 / temperature_);
  for (int64_t i = 0; i < vocabulary_; ++i) {
    weights_[i] = (weights_[i] - max) * scale;
  }
  Exp(weights_, weights_, vocabulary_);
  // NaN weights count as 0.
  int32_t* end = ids_;
  for (int32_t id = 0; id < vocabulary_; ++id) {
    if (weights_[id] > 0) *end++ = id;
  }
  return end;
}

double Sampler::MassUpTo(const int32_t* end) const {
  double sum = 0;
  for (const int32_t* id = ids_; id != end; ++id) {
    sum += static_cast<double>(weights_[*id]);
  }
  return sum;
}

int32_t Sampler::Draw(const float* logits, absl::Span<const int32_t> excluded,
                      double uniform) {
  int32_t* end = ComputeWeights(logits, excluded);
  const auto likelier = [this](int32_t a, int32_t b) {
    return std::make_tuple(-weights_[a], a) < std::make_tuple(-weights_[b], b);
  };
  if (top_k_ > 0 && top_k_ < end - ids_) {
    std::nth_element(ids_, ids_ + top_k_, end, likelier);
    end = ids_ + top_k_;
  }
  if (top_k_ > 0) std::sort(ids_, end, likelier);
  double total = MassUpTo(end);
  if (top_p_ < 1) {
    double held = 0;
    int32_t* nucleus = ids_;
    // Without top_k, only the likeliest ids are sorted, in parts of growing
    // size.
    int32_t* sorted = top_k_ > 0 ? end : ids_;
    for (int64_t more = 256; nucleus != end && held < top_p_ * total;
         ++nucleus) {
      if (nucleus == sorted) {
        sorted += std::min<int64_t>(more, end - sorted);
        std::nth_element(nucleus, sorted, end, likelier);
        std::sort(nucleus, sorted, likelier);
        more *= 4;
      }
      held += static_cast<double>(weights_[*nucleus]);
    }
    end = nucleus;
    total = held;
  }
  if (min_p_ > 0) {
    // The greatest weight is 1, so weights are fractions of the greatest
    // probability.
    end = std::remove_if(ids_, end,
                         [this](int32_t id) { return weights_[id] < min_p_; });
    total = MassUpTo(end);
  }
  double left = uniform * total;
  for (const int32_t* id = ids_; id != end; ++id) {
    left -= static_cast<double>(weights_[*id]);
    if (left < 0) return *id;
  }
  // Due to rounding, the loop may find no id. The last id is then drawn.
  return end == ids_ ? -1 : end[-1];
}

}  // namespace regard
