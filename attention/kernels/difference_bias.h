// A bias that is added to scores: a number for each query minus a number for
// each key. The numbers may be large, such as sums over a sequence. Kernels
// therefore compute each difference before they add it to a score.
#ifndef ATTENTION_KERNELS_DIFFERENCE_BIAS_H_
#define ATTENTION_KERNELS_DIFFERENCE_BIAS_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// The bias queries[i] - keys[j] for query i and key j. Both arrays are empty if
// there is no bias.
template <typename T>
struct DifferenceBias {
  Var<T> queries;  // [batch, heads, queries, 1]
  Var<T> keys;     // [batch, heads, keys, 1]

  bool has_value() const { return queries.has_value(); }
  bool needs_grad() const {
    return has_value() && (queries.needs_grad() || keys.needs_grad());
  }

  // CHECK-fails if the bias is not on `tape`, or does not match scores of shape
  // [batch, heads, queries, keys].
  void CheckCovers(const Tape<T>& tape, const Shape& scores) const {
    if (!has_value()) return;
    CheckOperand("a bias of queries", tape, queries);
    CheckOperand("a bias of keys", tape, keys);
    REGARD_CHECK(queries.shape() == scores.With(3, 1) &&
                 keys.shape() == scores.With(3, 1).With(2, scores[3]))
        << "a bias " << queries.shape() << " - " << keys.shape()
        << " for scores " << scores;
  }
};

}  // namespace regard

#endif  // ATTENTION_KERNELS_DIFFERENCE_BIAS_H_
