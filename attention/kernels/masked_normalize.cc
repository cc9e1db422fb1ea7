#include "attention/kernels/masked_normalize.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace regard {

namespace {

// The visible scores of one query that are not -inf, without gaps. `keys` are
// their columns.
template <typename T>
struct PackedRow {
  T* scores;
  int32_t* keys;
  int64_t size = 0;
  // The size, including the score of a sink, which is stored last.
  int64_t size_with_sink = 0;

  // `bias` and `sink` may be null.
  void Pack(const T* row, const T* bias, const T* sink,
            const VisibleKeys& visible) {
    size = 0;
    for (int64_t k = visible.begin; k < visible.end; ++k) {
      if (!visible(k)) continue;
      const T score = bias == nullptr ? row[k] : row[k] + bias[k];
      if (score == -std::numeric_limits<T>::infinity()) continue;
      scores[size] = score;
      keys[size++] = static_cast<int32_t>(k);
    }
    size_with_sink = size;
    if (sink != nullptr) scores[size_with_sink++] = *sink;
  }
};

}  // namespace

template <typename T>
Var<T> MaskedNormalize(Var<T> scores, const Normalizer<T>& normalizer,
                       const Mask& mask, const Positions& positions,
                       const HeadNormalizerInputs<T>& terms) {
  const Shape shape = scores.shape();
  REGARD_CHECK_EQ(shape.rank(), 4)
      << "MaskedNormalize takes [batch, heads, queries, keys], got " << shape;
  const DistanceBias<T> bias = terms.bias;
  const Var<T> sink = terms.sink;
  const Var<T> parameters = terms.parameters;
  bias.CheckCovers(scores.tape(), positions, shape);
  REGARD_CHECK(!sink.has_value() || sink.shape() == Shape({shape[1]}))
      << "scores " << shape << ", sink " << sink.shape();
  REGARD_CHECK(!parameters.has_value() || (parameters.shape().rank() == 2 &&
                                           parameters.dim(0) == shape[1]))
      << "scores " << shape << ", parameters " << parameters.shape();
  Tape<T>* const tape = &scores.tape();
  const int64_t heads = shape[1];
  const int64_t queries = shape[2];
  const int64_t keys = shape[3];
  const MaskReader reader(mask, positions, shape[0], queries, keys);
  // Calls f(row, head, visible keys, index of the row's bias).
  const auto for_each_row = [=](auto f) {
    for (int64_t row = 0; row < scores.rows(); ++row) {
      const int64_t source = row / queries;
      const int64_t query = row % queries;
      const int64_t head = source % heads;
      f(row, head, reader(source / heads, query),
        bias.has_value() ? bias.IndexOf(head, positions.Offset(query)) : 0);
    }
  };
  const auto sink_of = [=](int64_t head) -> const T* {
    return sink.has_value() ? sink.data() + head : nullptr;
  };
  const auto bias_at = [=](int64_t place) -> const T* {
    return bias.has_value() ? bias.values.data() + place : nullptr;
  };
  const int64_t count = parameters.has_value() ? parameters.dim(1) : 0;
  const auto parameters_of = [=](int64_t head) -> const T* {
    return parameters.has_value() ? parameters.data() + head * count : nullptr;
  };
  const bool needs_grad = scores.needs_grad() || bias.needs_grad() ||
                          (sink.has_value() && sink.needs_grad()) ||
                          (parameters.has_value() && parameters.needs_grad());
  Var<T> weights = tape->New(shape, needs_grad);
  T* const sink_weights =
      tape->arena().template New<T>(sink.has_value() ? scores.rows() : 0);
  {
    ScratchScope<T> scratch(*tape);
    PackedRow<T> packed = {scratch.New(keys + 1),
                           tape->scratch().template New<int32_t>(keys)};
    T* const spare = scratch.New(keys + 1);
    for_each_row([&](int64_t row, int64_t head, const VisibleKeys& visible,
                     int64_t place) {
      T* const w = weights.data() + row * keys;
      std::fill_n(w, keys, T(0));
      packed.Pack(scores.data() + row * keys, bias_at(place), sink_of(head),
                  visible);
      if (packed.size == 0) return;
      normalizer.Normalize(packed.size_with_sink, parameters_of(head),
                           packed.scores, spare);
      for (int64_t i = 0; i < packed.size; ++i) {
        w[packed.keys[i]] = packed.scores[i];
      }
      if (sink.has_value()) sink_weights[row] = packed.scores[packed.size];
    });
  }
  const Normalizer<T>* const rule = &normalizer;
  tape->Record("MaskedNormalize", weights, [=] {
    const T* d_weights = weights.grad_data();
    T* const d_score = GradToAddTo(scores);
    T* const d_bias = GradToAddTo(bias.values);
    T* const d_sink = GradToAddTo(sink);
    T* const d_parameters = GradToAddTo(parameters);
    ScratchScope<T> scratch(*tape);
    PackedRow<T> packed = {scratch.New(keys + 1),
                           tape->scratch().template New<int32_t>(keys)};
    T* const row_weights = scratch.New(keys + 1);
    T* const gradients = scratch.New(keys + 1);
    // Receives the gradients of a normalizer's parameters if the parameters do
    // not need gradients.
    T* const unused = scratch.New(count);
    std::fill_n(unused, count, T(0));
    for_each_row([&](int64_t row, int64_t head, const VisibleKeys& visible,
                     int64_t place) {
      packed.Pack(scores.data() + row * keys, bias_at(place), sink_of(head),
                  visible);
      if (packed.size == 0) return;
      for (int64_t i = 0; i < packed.size; ++i) {
        const int64_t at = row * keys + packed.keys[i];
        row_weights[i] = weights.data()[at];
        gradients[i] = d_weights[at];
      }
      if (sink.has_value()) {
        row_weights[packed.size] = sink_weights[row];
        gradients[packed.size] = T(0);
      }
      rule->Backward(
          {packed.size_with_sink, packed.scores, row_weights,
           parameters_of(head)},
          gradients,
          d_parameters == nullptr ? unused : d_parameters + head * count);
      if (d_sink != nullptr) d_sink[head] += gradients[packed.size];
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
