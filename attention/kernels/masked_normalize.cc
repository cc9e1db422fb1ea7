#include "attention/kernels/masked_normalize.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace regard {

namespace {

// The scores of one query that take part, packed: those that are visible and
// not -inf. `keys` are their places in the row.
template <typename T>
struct PackedRow {
  T* scores;
  int32_t* keys;
  int64_t size = 0;

  // `bias` is null if there is none.
  void Pack(const T* row, const T* bias, const VisibleKeys& visible) {
    size = 0;
    for (int64_t k = visible.begin; k < visible.end; ++k) {
      if (!visible(k)) continue;
      const T score = bias == nullptr ? row[k] : row[k] + bias[k];
      if (score == -std::numeric_limits<T>::infinity()) continue;
      scores[size] = score;
      keys[size++] = static_cast<int32_t>(k);
    }
  }
};

}  // namespace

template <typename T>
Var<T> MaskedNormalize(Var<T> scores, const Normalizer<T>& normalizer,
                       const Mask& mask, const Positions& positions,
                       const DistanceBias<T>& bias) {
  const Shape shape = scores.shape();
  REGARD_CHECK_EQ(shape.rank(), 4)
      << "MaskedNormalize takes [batch, heads, queries, keys], got " << shape;
  bias.CheckCovers(scores.tape(), positions, shape);
  Tape<T>* const tape = &scores.tape();
  const int64_t heads = shape[1];
  const int64_t queries = shape[2];
  const int64_t keys = shape[3];
  const MaskReader reader(mask, positions, shape[0], queries, keys);
  // Calls f(row, what it sees, the place of its bias).
  const auto for_each_row = [=](auto f) {
    for (int64_t row = 0; row < scores.rows(); ++row) {
      const int64_t source = row / queries;
      const int64_t query = row % queries;
      f(row, reader(source / heads, query),
        bias.has_value() ? bias.IndexOf(source % heads, positions.Offset(query))
                         : 0);
    }
  };
  const auto bias_at = [=](int64_t place) -> const T* {
    return bias.has_value() ? bias.values.data() + place : nullptr;
  };
  Var<T> weights = tape->New(shape, scores.needs_grad() || bias.needs_grad());
  {
    ScratchScope<T> scratch(*tape);
    PackedRow<T> packed = {scratch.New(keys),
                           tape->scratch().template New<int32_t>(keys)};
    T* const spare = scratch.New(keys);
    for_each_row([&](int64_t row, const VisibleKeys& visible, int64_t place) {
      T* const w = weights.data() + row * keys;
      std::fill_n(w, keys, T(0));
      packed.Pack(scores.data() + row * keys, bias_at(place), visible);
      if (packed.size == 0) return;
      normalizer.Normalize(packed.size, packed.scores, spare);
      for (int64_t i = 0; i < packed.size; ++i) {
        w[packed.keys[i]] = packed.scores[i];
      }
    });
  }
  const Normalizer<T>* const rule = &normalizer;
  tape->Record("MaskedNormalize", weights, [=] {
    const T* d_weights = weights.grad_data();
    T* const d_score = PartialGrad(scores);
    T* const d_bias = PartialGrad(bias.values);
    ScratchScope<T> scratch(*tape);
    PackedRow<T> packed = {scratch.New(keys),
                           tape->scratch().template New<int32_t>(keys)};
    T* const gradients = scratch.New(keys);
    for_each_row([&](int64_t row, const VisibleKeys& visible, int64_t place) {
      packed.Pack(scores.data() + row * keys, bias_at(place), visible);
      if (packed.size == 0) return;
      for (int64_t i = 0; i < packed.size; ++i) {
        const int64_t at = row * keys + packed.keys[i];
        packed.scores[i] = weights.data()[at];
        gradients[i] = d_weights[at];
      }
      rule->Backward(packed.size, packed.scores, gradients);
      for (int64_t i = 0; i < packed.size; ++i) {
        const int64_t key = packed.keys[i];
        if (d_score != nullptr) d_score[row * keys + key] += gradients[i];
        if (d_bias != nullptr) d_bias[place + key] += gradients[i];
      }
    });
  });
  return weights;
}

REGARD_INSTANTIATE_FUNCTION(MaskedNormalize);

}  // namespace regard
