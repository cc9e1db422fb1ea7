// A bias of scores that depends only on the head and on the distance. Kernels
// add it to the scores that they read, without expanding it to [heads, queries,
// keys].
#ifndef ATTENTION_KERNELS_DISTANCE_BIAS_H_
#define ATTENTION_KERNELS_DISTANCE_BIAS_H_

#include <cstdint>

#include "attention/positions.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The distances (key position - query position) of scores: lowest ..
// lowest + count - 1.
struct DistanceRange {
  int64_t lowest;
  int64_t count;

  // Returns the distances of all pairs. There must be at least one query.
  static DistanceRange Of(const Positions& positions, int64_t queries,
                          int64_t keys) {
    const int64_t last = positions.Offset(queries - 1);
    return {-last, last - positions.Offset(0) + keys};
  }
};

template <typename T>
struct DistanceBias {
  Var<T> values;  // [heads, distances]; empty without a bias
  int64_t lowest = 0;

  bool has_value() const { return values.has_value(); }
  bool needs_grad() const { return has_value() && values.needs_grad(); }

  // Returns the index in `values` of the bias of `head` for key row 0 and a
  // query with this `offset` (see Positions). The biases of the next keys
  // follow.
  int64_t IndexOf(int64_t head, int64_t offset) const {
    return head * values.dim(1) - offset - lowest;
  }

  // CHECK-fails if the values are not on `tape`, or do not cover the distances
  // of the scores. The values may cover further distances, if the scores are a
  // part of a longer call.
  void CheckCovers(const Tape<T>& tape, const Positions& positions,
                   const Shape& scores) const {
    if (!has_value()) return;
    CheckOperand("a bias of scores", tape, values);
    if (scores[2] == 0) return;
    const DistanceRange range =
        DistanceRange::Of(positions, scores[2], scores[3]);
    REGARD_CHECK(values.shape().rank() == 2 && values.dim(0) == scores[1] &&
                 lowest <= range.lowest &&
                 range.lowest + range.count <= lowest + values.dim(1))
        << "a bias " << values.shape() << " of distances from " << lowest
        << " for scores " << scores;
  }
};

}  // namespace regard

#endif  // ATTENTION_KERNELS_DISTANCE_BIAS_H_
