#include "attention/kernels/masked_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/kernels/softmax_row.h"
#include "attention/kernels/weighted_values.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

namespace {

struct ScoreRow {
  int64_t row;
  int64_t source;  // example * heads + head
  int64_t head;
  int64_t query;
  VisibleKeys visible;
};

// Calls f(ScoreRow) for the rows begin .. end - 1 of [batch, heads, queries].
// Increments the indices of a row instead of dividing, because a division takes
// as long as processing a short row.
template <typename F>
void ForEachRow(const Shape& shape, const MaskReader& reader, int64_t begin,
                int64_t end, F f) {
  if (begin == end) return;
  const int64_t heads = shape[1];
  const int64_t queries = shape[2];
  int64_t source = begin / queries;
  int64_t query = begin % queries;
  int64_t example = source / heads;
  int64_t head = source % heads;
  for (int64_t row = begin; row < end; ++row) {
    f(ScoreRow{row, source, head, query, reader(example, query)});
    if (++query < queries) continue;
    query = 0;
    ++source;
    if (++head < heads) continue;
    head = 0;
    ++example;
  }
}

// Turns scores into weights. Computes the exponentials of as many rows at a
// time as fit into a core's own cache. Then calls normalize(ScoreRow, weights),
// which must divide the exponentials of a row by their sum.
//
// biased(ScoreRow, scores, weights) returns the scores to use. It may return
// `scores`. It may also write visible scores plus a bias to `weights` and
// return `weights`.
template <typename T, typename Biased, typename F>
void SoftmaxRows(Var<T> scores, const MaskReader& reader, T* weights,
                 Biased biased, F normalize) {
  constexpr int64_t kBlock = 2048;  // elements
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  const Shape& shape = scores.shape();
  const int64_t keys = shape[3];
  const int64_t rows = scores.rows();
  const int64_t step =
      std::max<int64_t>(1, kBlock / std::max<int64_t>(keys, 1));
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t end = std::min(rows, begin + step);
    ForEachRow(shape, reader, begin, end, [&](const ScoreRow& r) {
      T* const w = weights + r.row * keys;
      const VisibleKeys& v = r.visible;
      std::fill(w, w + v.begin, kMinusInfinity);
      const T* row = biased(r, scores.data() + r.row * keys, w);
      if (v.excludes_one()) {
        if (row != w) std::copy(row + v.begin, row + v.end, w + v.begin);
        w[v.excluded] = kMinusInfinity;
        row = w;
      }
      ShiftByMax(row + v.begin,
                 v.dense == nullptr ? nullptr : v.dense + v.begin, v.size(),
                 w + v.begin);
      std::fill(w + v.end, w + keys, kMinusInfinity);
    });
    Exp(weights + begin * keys, weights + begin * keys, (end - begin) * keys);
    ForEachRow(shape, reader, begin, end, [&](const ScoreRow& r) {
      normalize(r, weights + r.row * keys);
    });
  }
}

constexpr auto kPlainScores = [](const ScoreRow&, const auto* scores, auto*) {
  return scores;
};

// Computes d_scores = weights * (d_weights - <weights, d_weights>) for one row
// of `keys` keys. If `accumulate` is true, adds the result to d_scores instead.
// Gradients of weights that are 0 have no effect, even if they are NaN.
template <typename T>
void SoftmaxRowBackward(const T* weights, const T* d_weights,
                        const VisibleKeys& visible, int64_t keys,
                        bool accumulate, T* d_scores) {
  const int64_t begin = visible.begin;
  const int64_t end = visible.end;
  T mean = DotRow(weights + begin, d_weights + begin, end - begin);
  if (std::isnan(mean)) {
    mean = T(0);
    for (int64_t k = begin; k < end; ++k) {
      if (weights[k] != T(0)) mean += weights[k] * d_weights[k];
    }
  }
  const auto gradient = [=](int64_t k) {
    const T d = weights[k] * (d_weights[k] - mean);
    return weights[k] == T(0) ? T(0) : d;
  };
  AddOrAssign(accumulate, end - begin, d_scores + begin,
              [=](int64_t i) { return gradient(begin + i); });
  if (accumulate) return;
  std::fill(d_scores, d_scores + begin, T(0));
  std::fill(d_scores + end, d_scores + keys, T(0));
}

// The maximum width of values for which MakesProducts() chooses matrix
// products. For narrow values, matrix products are up to four times as fast as
// a pass over the values for each row. For wide values, or with a single query,
// the pass is at least as fast.
//
// The two methods round differently, so the choice must not depend on padding.
// The width is never padded. The number of queries only matters if it is 1, as
// in a batch of targets of one word. A matrix product reads every value for
// every query, so all queries of an example must see the same keys.
constexpr int64_t kWidestProduct = 32;

bool MakesProducts(const MaskReader& reader, int64_t width) {
  return reader.IsSameForAllQueries() && !reader.one_query() && width > 1 &&
         width <= kWidestProduct;
}

// Computes kPackets packets of a context. The last packet has `last` elements.
// The sums stay in registers, because sums in memory would make each key wait
// for the previous one.
template <int kPackets, typename T>
void ContextPackets(const T* weights, const T* values,
                    const VisibleKeys& visible, int64_t width, int64_t last,
                    T* context) {
  constexpr int64_t kSize = kPacketSize<T>;
  Packet<T> sums[kPackets];
  for (Packet<T>& sum : sums) sum = packet::pset1<Packet<T>>(T(0));
  for (int64_t k = visible.begin; k < visible.end; ++k) {
    if (weights[k] == T(0)) continue;
    const Packet<T> weight = packet::pset1<Packet<T>>(weights[k]);
    const T* value = values + k * width;
    for (int i = 0; i < kPackets; ++i, value += kSize) {
      const Packet<T> part = i + 1 < kPackets || last == kSize
                                 ? packet::ploadu<Packet<T>>(value)
                                 : LoadPart(value, last);
      sums[i] = packet::padd(sums[i], packet::pmul(weight, part));
    }
  }
  for (int i = 0; i + 1 < kPackets; ++i) {
    packet::pstoreu(context + i * kSize, sums[i]);
  }
  StorePart(context + (kPackets - 1) * kSize, sums[kPackets - 1], last);
}

// Computes context[j .. width) of one row. The range must have fewer packets
// than 2 * kPackets.
template <int kPackets, typename T>
void NarrowContextRow(const T* weights, const T* values,
                      const VisibleKeys& visible, int64_t width, int64_t j,
                      T* context) {
  constexpr int64_t kBefore = (kPackets - 1) * kPacketSize<T>;
  if (width - j > kBefore) {
    const int64_t last = std::min(kPacketSize<T>, width - j - kBefore);
    ContextPackets<kPackets>(weights, values + j, visible, width, last,
                             context + j);
    j += kBefore + last;
  }
  if constexpr (kPackets > 1) {
    NarrowContextRow<kPackets / 2>(weights, values, visible, width, j, context);
  }
}

// Computes context[0 .. width) of one row: the weighted sum of the visible
// values. Values of weight 0 are not read.
template <typename T>
void ContextRow(const T* weights, const T* values, const VisibleKeys& visible,
                int64_t width, T* __restrict context) {
  // For wider values, one loop over all elements is faster than
  // NarrowContextRow().
  if (width <= std::min<int64_t>(64, 8 * kPacketSize<T>)) {
    NarrowContextRow<8>(weights, values, visible, width, 0, context);
    return;
  }
  std::fill_n(context, width, T(0));
  for (int64_t k = visible.begin; k < visible.end; ++k) {
    const T weight = weights[k];
    if (weight == T(0)) continue;
    const T* value = values + k * width;
    for (int64_t j = 0; j < width; ++j) context[j] += weight * value[j];
  }
}

// Adds to the gradients of the values, and writes the gradients of the visible
// weights. d_values and d_weights may be null. A null d_context means that the
// gradient of the context is 0.
template <typename T>
void ContextRowBackward(const T* weights, const T* values,
                        const VisibleKeys& visible, int64_t width,
                        const T* d_context, T* d_values,
                        T* __restrict d_weights) {
  if (d_context == nullptr) {
    if (d_weights != nullptr) {
      std::fill(d_weights + visible.begin, d_weights + visible.end, T(0));
    }
    return;
  }
  for (int64_t k = visible.begin; k < visible.end; ++k) {
    const T weight = weights[k];
    if (d_weights != nullptr) {
      d_weights[k] =
          weight == T(0) ? T(0) : DotRow(d_context, values + k * width, width);
    }
    if (d_values == nullptr || weight == T(0)) continue;
    T* __restrict d_value = d_values + k * width;
    for (int64_t j = 0; j < width; ++j) d_value[j] += weight * d_context[j];
  }
}

// Computes the gradients of a row if values have width 1 and the gradient of
// the weights comes only from the context. No sum is needed, because <weights,
// d_weights> is d times the context. Adds to the gradients of n visible values,
// and adds or assigns the gradients of their scores. d_values and d_scores may
// be null.
template <typename T>
void RegressionRowBackward(const T* weights, const T* values, int64_t n,
                           T context, T d, bool accumulate,
                           T* __restrict d_values, T* __restrict d_scores) {
  if (d_values != nullptr) {
    for (int64_t k = 0; k < n; ++k) {
      d_values[k] += weights[k] == T(0) ? T(0) : weights[k] * d;
    }
  }
  if (d_scores == nullptr) return;
  AddOrAssign(accumulate, n, d_scores, [=](int64_t k) {
    const T product = weights[k] * (d * (values[k] - context));
    return weights[k] == T(0) ? T(0) : product;
  });
}

}  // namespace

template <typename T>
Var<T> MaskedSoftmax(Var<T> scores, const Mask& mask,
                     const Positions& positions, const DistanceBias<T>& bias) {
  REGARD_CHECK_EQ(scores.shape().rank(), 4)
      << "MaskedSoftmax takes [batch, heads, queries, keys], got "
      << scores.shape();
  const Shape shape = scores.shape();
  bias.CheckCovers(scores.tape(), positions, shape);
  Tape<T>* const tape = &scores.tape();
  const int64_t keys = shape[3];
  const bool needs_grad = scores.needs_grad() || bias.needs_grad();
  Var<T> weights = tape->New(shape, needs_grad);
  const MaskReader reader(mask, positions, shape[0], shape[2], keys);
  const auto place = [=](const ScoreRow& r) {
    return bias.IndexOf(r.head, positions.Offset(r.query));
  };
  const auto normalize = [](const ScoreRow& r, T* w) {
    Normalize(r.visible.size(), w + r.visible.begin);
  };
  if (bias.has_value()) {
    SoftmaxRows(
        scores, reader, weights.data(),
        [&](const ScoreRow& r, const T* row, T* w) -> const T* {
          const T* const b = bias.values.data() + place(r);
          for (int64_t k = r.visible.begin; k < r.visible.end; ++k) {
            w[k] = row[k] + b[k];
          }
          return w;
        },
        normalize);
  } else {
    SoftmaxRows(scores, reader, weights.data(), kPlainScores, normalize);
  }
  tape->Record("MaskedSoftmax", weights, [=] {
    auto d = scores.grad_ref();
    const bool accumulate = d && d.BeginContribution();
    T* const d_bias = GradToAddTo(bias.values);
    // The gradients of each row are computed once, for the scores and for the
    // bias. They go to scratch memory if the scores need no gradients or
    // already have gradients.
    const bool apart = d_bias != nullptr && (!d || accumulate);
    ScratchScope<T> scratch(*tape);
    T* const d_apart = scratch.New(apart ? keys : 0);
    const T* d_weights = weights.grad_data();
    ForEachRow(shape, reader, 0, scores.rows(), [&](const ScoreRow& r) {
      const int64_t first = r.row * keys;
      T* const d_score = d ? d.data() + first : nullptr;
      T* const d_row = apart ? d_apart : d_score;
      SoftmaxRowBackward(weights.data() + first, d_weights + first, r.visible,
                         keys, accumulate && !apart, d_row);
      if (d_bias == nullptr) return;
      T* const b = d_bias + place(r);
      for (int64_t k = r.visible.begin; k < r.visible.end; ++k) {
        b[k] += d_row[k];
      }
      if (!apart || d_score == nullptr) return;
      for (int64_t k = r.visible.begin; k < r.visible.end; ++k) {
        d_score[k] += d_row[k];
      }
    });
  });
  return weights;
}

template <typename T>
WeightsAndContext<T> MaskedSoftmaxContext(Var<T> scores, const Mask& mask,
                                          Var<T> values,
                                          const Positions& positions) {
  const Shape shape = scores.shape();
  REGARD_CHECK(shape.rank() == 4 && values.shape().rank() == 4 &&
               shape[0] == values.dim(0) && values.dim(1) > 0 &&
               shape[1] % values.dim(1) == 0 && shape[3] == values.dim(2))
      << "scores " << shape << ", values " << values.shape();
  Tape<T>& tape = TapeOf("MaskedSoftmaxContext", scores, values);
  const int64_t queries = shape[2];
  const int64_t keys = shape[3];
  const int64_t width = values.dim(3);
  // Number of successive heads that share values. If it is 1, `grouped` is
  // false, which avoids a division per row.
  const int64_t group = shape[1] / values.dim(1);
  const bool grouped = group > 1;
  const bool needs_grad = scores.needs_grad() || values.needs_grad();
  const MaskReader reader(mask, positions, shape[0], queries, keys);
  if (MakesProducts(reader, width)) {
    const Var<T> weights = MaskedSoftmax(scores, mask, positions);
    return {weights, WeightedValues(weights, mask, values, positions)};
  }
  Var<T> weights = tape.New(shape, scores.needs_grad());
  Var<T> context = tape.New({shape[0], shape[1], queries, width}, needs_grad);
  const auto place = [=](int64_t source) {
    return (grouped ? source / group : source) * keys * width;
  };
  SoftmaxRows(
      scores, reader, weights.data(), kPlainScores,
      [&](const ScoreRow& r, T* w) {
        const T* const value = values.data() + place(r.source);
        const int64_t begin = r.visible.begin;
        if (width == 1) {
          context.data()[r.row] =
              NormalizeAndMean(r.visible.size(), value + begin, w + begin);
          return;
        }
        Normalize(r.visible.size(), w + begin);
        ContextRow(w, value, r.visible, width, context.data() + r.row * width);
      });
  Tape<T>* const tape_pointer = &tape;
  tape.RecordOutputs("MaskedSoftmaxContext", {weights, context}, [=] {
    const T* d_weights = weights.grad_data();
    const T* d_context = context.grad_data();
    auto d_scores = scores.grad_ref();
    T* const d_value = d_context == nullptr ? nullptr : GradToAddTo(values);
    const bool accumulate = d_scores && d_scores.BeginContribution();
    if (width == 1 && d_weights == nullptr) {
      ForEachRow(shape, reader, 0, scores.rows(), [&](const ScoreRow& r) {
        const int64_t begin = r.visible.begin;
        const int64_t first = r.row * keys;
        const int64_t value = place(r.source) + begin;
        T* const d_row = d_scores ? d_scores.data() + first : nullptr;
        RegressionRowBackward(
            weights.data() + first + begin, values.data() + value,
            r.visible.size(), context.data()[r.row], d_context[r.row],
            accumulate, d_value == nullptr ? nullptr : d_value + value,
            d_row == nullptr ? nullptr : d_row + begin);
        if (d_row == nullptr || accumulate) return;
        std::fill(d_row, d_row + begin, T(0));
        std::fill(d_row + r.visible.end, d_row + keys, T(0));
      });
      return;
    }
    ScratchScope<T> scratch(*tape_pointer);
    T* const d_row = scratch.New(keys);
    ForEachRow(shape, reader, 0, scores.rows(), [&](const ScoreRow& r) {
      const T* const w = weights.data() + r.row * keys;
      const int64_t value = place(r.source);
      ContextRowBackward(
          w, values.data() + value, r.visible, width,
          d_context == nullptr ? nullptr : d_context + r.row * width,
          d_value == nullptr ? nullptr : d_value + value,
          d_scores ? d_row : nullptr);
      if (!d_scores) return;
      if (d_weights != nullptr) {
        for (int64_t k = r.visible.begin; k < r.visible.end; ++k) {
          d_row[k] += d_weights[r.row * keys + k];
        }
      }
      SoftmaxRowBackward(w, d_row, r.visible, keys, accumulate,
                         d_scores.data() + r.row * keys);
    });
  });
  return {weights, context};
}

REGARD_INSTANTIATE_FUNCTION(MaskedSoftmax);
REGARD_INSTANTIATE_FUNCTION(MaskedSoftmaxContext);

}  // namespace regard
