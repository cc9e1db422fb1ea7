// What follows the scores on the way to a context, besides softmax.
#ifndef ATTENTION_KERNELS_CONTEXT_OPTIONS_H_
#define ATTENTION_KERNELS_CONTEXT_OPTIONS_H_

#include <cstdint>

#include "attention/kernels/distance_bias.h"

namespace regard {

template <typename T>
struct ContextOptions {
  DistanceBias<T> bias = {};  // added to the scores
  // The probability of dropping a weight while the tape trains, by the mask of
  // Dropout() at the site "weights".
  T dropout = T(0);
  // Not 0: queries, keys, values and context have their heads side by side,
  // [batch, rows, heads * width], and this many are the queries'.
  int64_t heads_side_by_side = 0;
};

}  // namespace regard

#endif  // ATTENTION_KERNELS_CONTEXT_OPTIONS_H_
