#include "attention/masked_softmax.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

namespace {

// A copy of the mask whose spans live in the tape's arena.
template <typename T>
Mask KeepMask(Tape<T>& tape, const Mask& mask) {
  Mask kept = mask;
  if (!mask.key_lengths.empty()) {
    auto* lengths = tape.arena().template New<int32_t>(
        static_cast<int64_t>(mask.key_lengths.size()));
    std::copy(mask.key_lengths.begin(), mask.key_lengths.end(), lengths);
    kept.key_lengths = {lengths, mask.key_lengths.size()};
  }
  return kept;
}

// Calls f(row, example, visible keys) for each row of [batch, heads, queries].
template <typename F>
void ForEachRow(const Shape& shape, const Mask& mask, F f) {
  const MaskReader reader(mask, shape[0], shape[2], shape[3]);
  int64_t row = 0;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t q = 0; q < shape[2]; ++q, ++row) f(row, b, reader(b, q));
    }
  }
}

// weights[0 .. keys) of one row.
template <typename T>
void SoftmaxRow(const T* scores, VisibleKeys visible, int64_t keys,
                T* weights) {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  const int64_t n = visible.limit;
  std::copy_n(scores, n, weights);
  if (visible.dense != nullptr) {
    for (int64_t k = 0; k < n; ++k) {
      if (!visible(k)) weights[k] = kMinusInfinity;
    }
  }
  std::fill(weights + n, weights + keys, T(0));
  const T max = MaxRow(weights, n);
  if (max == kMinusInfinity) {
    std::fill_n(weights, n, T(0));
    return;
  }
  for (int64_t k = 0; k < n; ++k) weights[k] -= max;
  Exp(weights, weights, n);
  const T scale = T(1) / SumRow(weights, n);
  for (int64_t k = 0; k < n; ++k) weights[k] *= scale;
}

// d_scores (+)= weights * (d_weights - <weights, d_weights>) on one row.
template <typename T>
void SoftmaxRowBackward(const T* weights, const T* d_weights, int64_t n,
                        int64_t keys, bool accumulate, T* d_scores) {
  const T mean = DotRow(weights, d_weights, n);
  if (accumulate) {
    for (int64_t k = 0; k < n; ++k) {
      d_scores[k] += weights[k] * (d_weights[k] - mean);
    }
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    d_scores[k] = weights[k] * (d_weights[k] - mean);
  }
  std::fill(d_scores + n, d_scores + keys, T(0));
}

}  // namespace

template <typename T>
Var<T> MaskedSoftmax(Var<T> scores, const Mask& mask) {
  REGARD_CHECK_EQ(scores.shape().rank(), 4)
      << "MaskedSoftmax wants [batch, heads, queries, keys], got "
      << scores.shape();
  Tape<T>& tape = scores.tape();
  const Shape shape = scores.shape();
  const int64_t keys = shape[3];
  Var<T> weights = tape.New(shape, scores.needs_grad());
  ForEachRow(shape, mask, [&](int64_t row, int64_t, VisibleKeys visible) {
    SoftmaxRow(scores.data() + row * keys, visible, keys,
               weights.data() + row * keys);
  });
  if (!scores.needs_grad()) return weights;
  const Mask kept = KeepMask(tape, mask);
  tape.Record("MaskedSoftmax", weights, [=] {
    auto d = scores.grad_ref();
    const bool accumulate = d.Begin();
    const T* d_weights = weights.grad_data();
    ForEachRow(shape, kept, [&](int64_t row, int64_t, VisibleKeys visible) {
      SoftmaxRowBackward(weights.data() + row * keys, d_weights + row * keys,
                         visible.limit, keys, accumulate,
                         d.data() + row * keys);
    });
  });
  return weights;
}

template <typename T>
WeightsAndContext<T> MaskedSoftmaxContext(Var<T> scores, const Mask& mask,
                                          Var<T> values) {
  const Shape shape = scores.shape();
  REGARD_CHECK(shape.rank() == 4 && values.shape().rank() == 4 &&
               shape[0] == values.dim(0) && shape[1] == values.dim(1) &&
               shape[3] == values.dim(2))
      << "scores " << shape << ", values " << values.shape();
  Tape<T>& tape = scores.tape();
  const int64_t queries = shape[2];
  const int64_t keys = shape[3];
  const int64_t width = values.dim(3);
  const bool needs_grad = scores.needs_grad() || values.needs_grad();
  Var<T> weights = tape.New(shape, scores.needs_grad());
  Var<T> context = tape.New({shape[0], shape[1], queries, width}, needs_grad);
  // Rows of one (example, head) read the same values.
  ForEachRow(shape, mask, [&](int64_t row, int64_t, VisibleKeys visible) {
    const T* value = values.data() + row / queries * keys * width;
    T* w = weights.data() + row * keys;
    T* __restrict c = context.data() + row * width;
    SoftmaxRow(scores.data() + row * keys, visible, keys, w);
    if (width == 1) {
      *c = SumEach<T>(visible.limit, [=](int64_t k) {
        return w[k] == T(0) ? T(0) : w[k] * value[k];
      });
      return;
    }
    std::fill_n(c, width, T(0));
    for (int64_t k = 0; k < visible.limit; ++k) {
      const T weight = w[k];
      if (weight == T(0)) continue;
      for (int64_t j = 0; j < width; ++j) c[j] += weight * value[k * width + j];
    }
  });
  if (!needs_grad) return {weights, context};
  const Mask kept = KeepMask(tape, mask);
  Tape<T>* const tape_pointer = &tape;
  tape.RecordOutputs("MaskedSoftmaxContext", {weights, context}, [=] {
    const T* d_weights = weights.grad_data();
    const T* d_context = context.grad_data();
    auto d_scores = scores.grad_ref();
    auto d_values = values.grad_ref();
    const bool accumulate = d_scores && d_scores.Begin();
    T* d_value = nullptr;
    if (d_values && d_context != nullptr) d_value = d_values.BeginPartial();
    ScratchScope<T> scratch(*tape_pointer);
    T* const d_row = scratch.New(keys);
    ForEachRow(shape, kept, [&](int64_t row, int64_t, VisibleKeys visible) {
      const int64_t n = visible.limit;
      const int64_t source = row / queries * keys * width;
      const T* w = weights.data() + row * keys;
      if (width == 1 && d_context != nullptr) {
        // Regression: numbers instead of vectors, so loops run over keys.
        const T d_c = d_context[row];
        if (d_value != nullptr) {
          T* __restrict d_v = d_value + source;
          for (int64_t k = 0; k < n; ++k) {
            d_v[k] += w[k] == T(0) ? T(0) : w[k] * d_c;
          }
        }
        if (!d_scores) return;
        const T* value = values.data() + source;
        for (int64_t k = 0; k < n; ++k) {
          d_row[k] = w[k] == T(0) ? T(0) : d_c * value[k];
        }
        if (d_weights != nullptr) {
          for (int64_t k = 0; k < n; ++k) d_row[k] += d_weights[row * keys + k];
        }
        SoftmaxRowBackward(w, d_row, n, keys, accumulate,
                           d_scores.data() + row * keys);
        return;
      }
      if (d_value != nullptr) {
        const T* d_c = d_context + row * width;
        for (int64_t k = 0; k < n; ++k) {
          T* __restrict d_v = d_value + source + k * width;
          const T weight = w[k];
          if (weight == T(0)) continue;
          for (int64_t j = 0; j < width; ++j) d_v[j] += weight * d_c[j];
        }
      }
      if (!d_scores) return;
      for (int64_t k = 0; k < n; ++k) {
        d_row[k] = d_weights == nullptr ? T(0) : d_weights[row * keys + k];
        if (d_context == nullptr || w[k] == T(0)) continue;
        d_row[k] += DotRow(d_context + row * width,
                           values.data() + source + k * width, width);
      }
      SoftmaxRowBackward(w, d_row, n, keys, accumulate,
                         d_scores.data() + row * keys);
    });
  });
  return {weights, context};
}

template Var<float> MaskedSoftmax(Var<float>, const Mask&);
template Var<double> MaskedSoftmax(Var<double>, const Mask&);
template WeightsAndContext<float> MaskedSoftmaxContext(Var<float>, const Mask&,
                                                       Var<float>);
template WeightsAndContext<double> MaskedSoftmaxContext(Var<double>,
                                                        const Mask&,
                                                        Var<double>);

}  // namespace regard
